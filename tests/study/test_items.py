"""Items from folders and tables; practice, checks and batches."""

from __future__ import annotations

import json
from hashlib import sha256

import pytest

from softlabel import study

TABLE = '[study]\nlabels = ["cat", "dog"]\n[items]\nsource = "{}"\n'


def lines(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_a_folder_of_pictures_in_the_order_of_their_names(make, picture):
    folder = make(files={"images/b/x.png": picture, "images/.hidden": b"?", "images/.d/x": b"?"})
    ids = [item.id for item in study.read(folder).items]
    assert ids == ["00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "b/x"]


def test_two_files_with_one_name_would_be_one_item(make, wrong, picture):
    assert wrong(make(files={"images/00.gif": b"GIF89a"})) == [
        "images/00.png, the name, id = '00': is the id of another item, too"
    ]


def test_a_folder_of_recordings(make):
    files = {"sounds/a.wav": b"RIFF\x24\x00\x00\x00WAVEfmt "}
    (item,) = study.read(make(TABLE.format("sounds"), files)).items
    assert (item.id, item.image, item.audio.mime) == ("a", None, "audio/wav")


def test_an_empty_folder(make, wrong):
    folder = make(TABLE.format("nothing"))
    (folder / "nothing").mkdir()
    assert wrong(folder) == [
        "study.toml, items.source = 'nothing': contains no picture, recording or video"
    ]


def test_every_column_of_a_csv(make):
    text = (
        'id,image,alt,text,gold,site\na,images/00.png,a bird,"two,\nlines",dog,north\nb,,,hello,,\n'
    )
    found = study.read(make(TABLE.format("items.csv"), {"items.csv": text}))
    one, two = found.items
    assert (one.id, one.kind, one.alt, one.text) == ("a", "target", "a bird", "two,\nlines")
    assert (one.gold, one.meta) == ((0.0, 1.0), {"site": "north"})
    assert one.image.path == (found.folder / "images" / "00.png").resolve()
    assert (two.id, two.text, two.image, two.gold, two.meta) == ("b", "hello", None, None, {})


def test_every_kind_of_line_in_a_jsonl(make):
    rows = lines(
        {"id": 7, "text": "one", "gold": {"cat": 0.25, "dog": 0.75}, "year": 1999},
        {"text": "two", "gold": "cat"},
    )
    with pytest.raises(study.folder.StudyError):  # the second has no id though the first has
        study.read(make(TABLE.format("items.jsonl"), {"items.jsonl": rows}))
    rows = rows.replace('{"text": "two"', '{"id": "b", "text": "two"')
    one, two = study.read(make(TABLE.format("items.jsonl"), {"items.jsonl": rows})).items
    assert (one.id, one.gold, one.meta) == ("7", (0.25, 0.75), {"year": "1999"})
    assert (two.id, two.gold) == ("b", (1.0, 0.0))


def test_an_id_that_is_not_given_is_the_file_or_the_line(make):
    rows = lines({"image": "images/03.png"}, {"text": "hello"})
    found = study.read(make(TABLE.format("items.jsonl"), {"items.jsonl": rows}))
    assert [item.id for item in found.items] == ["03", "2"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "items.csv: contains no item"),
        ("id,text\n", "items.csv: contains no item"),
        ("id,text\na,b,c\n", "items.csv, line 2: has 3 cells; the first line names 2 columns"),
        ("id,id\na,b\n", "items.csv, line 1 = 'id': two columns have this name"),
        ('text\n"open\n', "items.csv, line 2: is not CSV: unexpected end of data"),
        (
            "id,imagee\na,b\n",
            "items.csv, line 1: no column is called text, image, audio or video; its columns are: "
            "id, imagee; rename one of them, or name texts in study.toml: [items] headings = "
            '{ imagee = "…" }',
        ),
        (
            "id,imagee,text\na,b,\nb,c,d\n",
            "items.csv, line 2, image: there must be an image, a text, audio or a video",
        ),
        (
            "id;text\na;b\n",
            "items.csv, line 1: the columns are separated by semicolons, as in 'id;text'; save the "
            "table with commas (in a spreadsheet program: CSV, field separator ,)",
        ),
        ("id,text\na,x\na,y\n", "items.csv, line 3, id = 'a': is the id of another item, too"),
        ("id,text\na,x\n,y\n", "items.csv, line 3, id: is empty, though other lines have one"),
        ("id,text\n a,x\n", "items.csv, line 2, id = ' a': begins or ends with a space"),
        ("text\na\x00b\n", "items.csv, line 2, text = 'a\\x00b': must be a text without control"),
        (
            "text,gold\nx,dgo\n",
            "items.csv, line 2, gold = 'dgo': no such label (did you mean 'dog'?)",
        ),
        (
            "text,batch\nx,1\ny,\n",
            "items.csv, line 3, batch: must name a batch, as other lines do",
        ),
    ],
)
def test_mistakes_in_a_csv(make, wrong, text, line):
    found = wrong(make(TABLE.format("items.csv"), {"items.csv": text}))
    assert any(one.startswith(line) for one in found), found


@pytest.mark.parametrize(
    ("row", "line"),
    [
        ("[1]", 'line 1: must be an object: {"text": "…"}'),
        ('{"text": }', "line 1: is not JSON: Expecting value (line 1, column 10)"),
        ('{"text": NaN}', "line 1: is not JSON: NaN is not a number"),
        ('{"text": "a", "text": "b"}', "line 1: has the key 'text' twice in one object"),
        ('{"text": 5}', "line 1, text = 5: must be a text without control characters"),
        ('{"text": "\\ud800"}', "line 1: cannot be used: it contains half of a surrogate pair"),
        ('{"image": 5}', "line 1, image = 5: must be the name of a file"),
        ('{"id": true, "text": "a"}', "line 1, id = true: must be a text or a whole number"),
        ('{"id": [1], "text": "a"}', "line 1, id = [1]: must be a text or a whole number"),
        (
            '{"text": "a", "gold": {"cat": 0.5, "dgo": 0.5}}',
            "line 1, gold = 'dgo': no such label (did you mean 'dog'?)",
        ),
        (
            '{"text": "a", "gold": {"cat": 0.5, "dog": 0.4}}',
            "line 1, gold = {'cat': 0.5, 'dog': 0.4}: the probabilities must sum to 1",
        ),
        (
            '{"text": "a", "gold": {"cat": 1.5}}',
            "line 1, gold.cat = 1.5: must be a probability from 0 to 1",
        ),
        ('{"text": "a", "gold": [1, 0]}', "line 1, gold = [1, 0]: must be a label, or a table"),
        ("[" * 9999, "line 1: cannot be used: it is nested too deeply"),
        ("9" * 9999, "line 1: cannot be used: Exceeds the limit"),
    ],
)
def test_mistakes_in_a_jsonl(make, wrong, row, line):
    found = wrong(make(TABLE.format("items.jsonl"), {"items.jsonl": row + "\n"}))
    assert found[0].startswith(f"items.jsonl, {line}"), found


def test_practice_and_checks(make):
    toml = TABLE.format("images") + 'practice = "practice.csv"\nchecks = "checks.csv"\n'
    files = {
        "practice.csv": "text,gold,feedback\nhello,cat,It was a cat.\n",
        "checks.csv": "id,text,gold,kind\na,x,dog,\nb,choose cat,cat,attention\n",
    }
    found = study.read(make(toml, files))
    (practice,) = found.practice
    assert (practice.kind, practice.gold, practice.feedback) == (
        "training",
        (1.0, 0.0),
        "It was a cat.",
    )
    assert [(item.id, item.kind) for item in found.checks] == [("a", "gold"), ("b", "attention")]
    assert found.find("b").gold == (1.0, 0.0)
    assert found.showings_per_person == 1 + 12 + 2 + 2


def test_mistakes_in_checks(make, wrong):
    toml = TABLE.format("images") + 'checks = "checks.csv"\n'
    rows = "id,text,gold,kind\na,x,,\nb,x,cat,attentoon\n00,x,cat,gold\n"
    assert wrong(make(toml, {"checks.csv": rows})) == [
        "checks.csv, line 2, gold: a check must give the right answer",
        "checks.csv, line 3, kind = 'attentoon': must be gold or attention "
        "(did you mean 'attention'?)",
        "checks.csv, line 4, id = '00': is the id of another item, too",
    ]


def test_batches_by_a_column(make, wrong):
    rows = "".join(f"item-{n},x{n},{n % 3}\n" for n in range(9))
    folder = make(TABLE.format("items.csv"), {"items.csv": "id,text,batch\n" + rows})
    found = study.read(folder)
    assert found.batches == {
        "0": ("item-0", "item-3", "item-6"),
        "1": ("item-1", "item-4", "item-7"),
        "2": ("item-2", "item-5", "item-8"),
    }
    assert (found.items_per_person, found.people_needed) == (3, 18)
    assert found.items[0].meta == {}
    (folder / "study.toml").write_text(
        TABLE.format("items.csv") + "per_annotator = 3\nbatch_size = 3\n"
    )
    assert wrong(folder) == [
        "study.toml, items.per_annotator = 3: a person answers one batch, so the batches set the "
        "number; leave this out",
        "study.toml, items.batch_size = 3: a person holds one batch, so the batches set the "
        "number; leave this out",
    ]


def test_a_column_that_may_be_a_slip_is_noted_not_refused(make):
    folder = make(TABLE.format("items.csv"), {"items.csv": "text,glod\nx,dog\n"})
    found = study.read(folder)
    assert [str(note) for note in found.notes] == [
        "items.csv, glod: is kept, but means nothing here (did you mean 'gold'?)"
    ]
    assert found.items[0].meta == {"glod": "dog"}


def test_many_labels_are_noted_unless_they_are_searched_for(make):
    labels = json.dumps([f"label {n}" for n in range(30)])
    toml = '[study]\nlabels = {}\nmode = "{}"\n[items]\nsource = "images"\n'
    (note,) = study.read(make(toml.format(labels, "quick"))).notes
    assert "search is quicker" in note.reason
    assert study.read(make(toml.format(labels, "search"))).notes == ()


@pytest.mark.parametrize(
    ("added", "places"),
    [
        ("", (5, 10)),
        ("per_annotator = 8", (5,)),
        ("per_annotator = 3", ()),
        ("repeats = 0", ()),
        ("repeats = 1", (5,)),
        ("repeats = 4", (2, 4, 7, 9)),
        ("repeat_positions = [0, 11]", (0, 11)),
    ],
)
def test_which_items_come_again(make, added, places):
    found = study.read(make(TABLE.format("images") + added))
    assert (found.repeats, found.repeat_positions) == (len(places), places)


# ── several texts, videos, second pictures, notes ────────────────────────────────────────────

WEBM = b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm\x42\x87\x81\x04"
MP4 = b"\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00isom"
HEADINGS = 'headings = { premise = "Premise", hypothesis = "Hypothesis" }\n'


def table(name, more=""):
    return TABLE.format(name) + more


def read_rows(make, *rows, more="", files=None):
    """The items of a JSONL table."""
    given = {"items.jsonl": lines(*rows)} | (files or {})
    return study.read(make(table("items.jsonl", more), given)).items


def test_texts_under_headings_in_the_order_of_the_settings(make):
    text = "id,hypothesis,premise,site\na,He sings.,A man sings.,north\nb,,Alone.,\n"
    found = study.read(make(table("items.csv", HEADINGS), {"items.csv": text}))
    one, two = found.items
    assert one.texts == (("Premise", "A man sings."), ("Hypothesis", "He sings."))
    assert (two.texts, two.text) == ((("Premise", "Alone."),), None)
    assert one.meta == {"site": "north"}


def test_the_columns_text_question_and_note_may_have_a_heading(make):
    more = 'headings = { question = "Asked", text = "Said" }\n'
    row = {"question": "Why?", "text": "Because.", "note": "short"}
    (item,) = read_rows(make, row, more=more)
    assert item.texts == (("Asked", "Why?"), ("Said", "Because."))
    assert (item.question, item.text, item.note) == (None, None, "short")


def test_mistakes_in_headings(make, wrong):
    text = "id,premisse,image\na,hello,\n"
    more = 'headings = { premise = "Premise", image = "Picture" }\n'
    assert wrong(make(table("items.csv", more), {"items.csv": text})) == [
        "study.toml, items.headings.image = 'Picture': the column image holds no text to show",
        "study.toml, items.headings.premise = 'Premise': items.csv has no such column, or nothing "
        "in it (did you mean 'premisse'?)",
        "study.toml, items.headings.image = 'Picture': items.csv has no such column, or nothing "
        "in it",
        "items.csv, line 1: no column is called text, image, audio or video; its columns are: id, "
        "premisse; rename one of them, or name texts in study.toml: [items] headings = "
        '{ premisse = "…" }',
    ]
    assert wrong(make(table("images", HEADINGS))) == [
        "study.toml, items.headings: needs a table of items, because the files of a folder have no "
        "columns"
    ]
    (line,) = wrong(make(table("images", 'layout = "colums"\n')))
    assert line == (
        "study.toml, items.layout = 'colums': must be auto or rows or columns "
        "(did you mean 'columns'?)"
    )


def test_practice_and_checks_have_headings_too(make):
    more = f'{HEADINGS}practice = "practice.jsonl"\nchecks = "checks.jsonl"\n'
    files = {
        "practice.jsonl": lines({"id": "p", "premise": "x", "gold": "cat"}),
        "checks.jsonl": lines({"id": "c", "text": "Say dog.", "gold": "dog", "kind": "attention"}),
        "items.jsonl": lines({"id": "i", "premise": "a", "hypothesis": "b"}),
    }
    found = study.read(make(table("items.jsonl", more), files))
    assert found.practice[0].texts == (("Premise", "x"),)
    assert (found.checks[0].text, found.checks[0].texts) == ("Say dog.", ())


def test_a_folder_and_a_column_of_videos(make):
    files = {"clips/b.mp4": MP4, "clips/a.webm": WEBM}
    a, b = study.read(make(TABLE.format("clips"), files)).items
    assert [(one.id, one.video.mime, one.image) for one in (a, b)] == [
        ("a", "video/webm", None),
        ("b", "video/mp4", None),
    ]
    (item,) = read_rows(make, {"video": "clips/b.mp4", "note": "n"}, files=files)
    assert (item.id, item.video.mime, item.note, len(item.media)) == ("b", "video/mp4", "n", 1)


def test_a_video_is_no_picture_and_the_other_way_round(make, wrong):
    rows = ({"id": 1, "image": "a.webm"}, {"id": 2, "video": "images/00.png"})
    files = {"items.jsonl": lines(*rows), "a.webm": WEBM}
    assert wrong(make(table("items.jsonl"), files)) == [
        "items.jsonl, line 1, image = 'a.webm': is video/webm; what can be shown is PNG, JPEG, "
        "GIF, WebP and AVIF",
        "items.jsonl, line 2, video = 'images/00.png': is image/png; what can be shown is WebM "
        "and MP4",
    ]


def test_two_pictures_as_columns_or_as_a_list(make):
    columns = {"id": 1, "image": "images/00.png", "image_2": "images/01.png", "alt_2": "right"}
    both = {"id": 2, "image": ["images/00.png", "images/01.png"], "alt": ["left", "right"]}
    single = {"id": 3, "image": ["images/00.png"]}
    one, two, three = read_rows(make, columns, both, single)
    for item in (one, two):
        assert [media.path.name for media in item.media] == ["00.png", "01.png"]
        assert item.alt_2 == "right"
    assert (one.alt, two.alt, three.image_2) == ("", "left", None)


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (
            {"image": ["a", "b", "c"]},
            "image = ['a', 'b', 'c']: a list has one or two entries, and no image_2 beside it",
        ),
        (
            {"image": ["images/00.png"], "image_2": "images/01.png"},
            "image = ['images/00.png']: a list has one or two entries, and no image_2 beside it",
        ),
        ({"text": "x", "image_2": "images/01.png"}, "image_2 = 'images/01.png': there must be"),
        ({"image": ["images/00.png", "no.png"]}, "image_2 = 'no.png': no such file"),
        ({"text": "x", "note": 3}, "note = 3: must be a text without control characters"),
    ],
)
def test_mistakes_in_pairs_and_notes(make, wrong, row, line):
    found = wrong(make(table("items.jsonl"), {"items.jsonl": lines({"id": "a"} | row)}))
    assert found[0].startswith(f"items.jsonl, line 1, {line}")


def test_the_digest_covers_everything_that_is_shown(make):
    files = {"a.webm": WEBM, "b.mp4": MP4}
    first = {"text": "x", "image": "images/00.png", "premise": "p", "hypothesis": "h"}
    changes = [
        {},
        {"note": "n"},
        {"question": "q?"},
        {"premise": "other"},
        {"video": "a.webm"},
        {"video": "b.mp4"},
        {"image_2": "images/01.png"},
        {"image_2": "images/01.png", "alt_2": "right"},
    ]
    rows = [{"id": n} | first | change for n, change in enumerate(changes)]
    digests = [
        item.digest
        for more in (HEADINGS, f"{HEADINGS}markdown = true\n")
        for item in read_rows(make, *rows, more=more, files=files)
    ]
    assert len(set(digests)) == 2 * len(changes)
    same = [{"id": "z", "gold": "cat", "meta": 1} | first]
    (item,) = read_rows(make, *same, more=HEADINGS)
    assert item.digest == digests[0], "what is not shown does not change it"


def test_the_digest_of_an_item_without_newer_parts_is_that_of_older_databases():
    shown = json.dumps(["a text", "", None, None]).encode()
    item = study.Item("a", "target", text="a text")
    assert item.digest == sha256(shown).hexdigest()
