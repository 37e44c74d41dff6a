"""Every mistake is listed at once: file, key, value, reason, and the nearest right spelling."""

from __future__ import annotations

import json
import re

import pytest

from softlabel import study

DOZEN = """\
[study]
name = "My Birds"
labelz = ["cat", "dog"]
labels = "label.txt"
mode = "quik"
frame = "thrid_person"
seed = -1
per_item = 3

[items]
source = "itemz.csv"
practice = "practice.csv"
repeats = 2
repeat_positions = [0, 1, 1]

[pages]
consent = "consnet.md"

[[quiz.question]]
text = "What is judged?"
options = ["the picture", "the frame"]
right = "the pictures"

[recruit]
kind = "prolifik"

[pay]
currency = "pounds"
minutes = 10
per_hour = 9
per_session = 2

[pagse]
"""
FILES = {
    "labels.txt": "cat\ndog\n",
    "consent.md": "I agree.",
    "items.csv": "image\nimages/00.png\n",
    "practice.csv": "image,gold\nimages/01.png,cta\nimages/99.png,cat\n",
}
EXPECTED = [
    "study.toml, study.name = 'My Birds': may contain only lower-case letters, digits and hyphens",
    "study.toml, study.labelz: no such key (did you mean 'labels'?)",
    "study.toml, study.labels = 'label.txt': no such file (did you mean 'labels.txt'?)",
    "study.toml, study.mode = 'quik': no mode called 'quik' (did you mean 'quick'?); there are: "
    "chips, classic, hard, quick, search",
    "study.toml, study.frame = 'thrid_person': must be self or third_person "
    "(did you mean 'third_person'?)",
    "study.toml, study.seed = -1: must be 0 or more",
    "study.toml, study.per_item = 3: no such key here; it belongs in [items]",
    "study.toml, items.source = 'itemz.csv': no such file (did you mean 'items.csv'?)",
    "practice.csv, line 3, image = 'images/99.png': no such file (did you mean 'images/09.png'?)",
    "study.toml, pages.consent = 'consnet.md': no such file (did you mean 'consent.md'?)",
    "study.toml, quiz.question[0].right = 'the pictures': is none of the options "
    "(did you mean 'the picture'?)",
    "study.toml, recruit.kind = 'prolifik': must be open or prolific or url or invitation "
    "(did you mean 'prolific'?)",
    "study.toml, pay.currency = 'pounds': must be three capital letters, such as GBP",
    "study.toml, pagse: no such table (did you mean 'pages'?)",
]


def test_a_folder_with_a_dozen_mistakes_lists_them_all(make, wrong):
    lines = wrong(make(DOZEN, FILES))
    assert sorted(lines) == sorted(EXPECTED)


def test_what_could_not_be_read_is_not_held_against_the_rest(make, wrong):
    """A misspelt file of labels does not make every gold label unknown."""
    lines = wrong(make(DOZEN, FILES))
    assert not [line for line in lines if "cta" in line]
    fixed = DOZEN.replace('"label.txt"', '"labels.txt"')
    assert "practice.csv, line 2, gold = 'cta': no such label (did you mean 'cat'?)" in wrong(
        make(fixed, FILES)
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[study\n", "study.toml, line 1, column 7: is not TOML: Expected ']' at the end"),
        ('[study]\nname = "a\n', "study.toml, line 2, column 10: is not TOML: Illegal character"),
        ("a = \n", "study.toml, line 1, column 5: is not TOML: Invalid value"),
        ("a = 1\na = 2\n", "study.toml, line 2, column 6: is not TOML: Cannot overwrite a value"),
        ("a = " + "[" * 5000, "study.toml: is nested too deeply for a study"),
        ("a = " + "9" * 5000, "study.toml: is not TOML: "),
    ],
    ids=["bracket", "quote", "value", "twice", "deep", "digits"],
)
def test_what_is_not_toml_names_line_and_column(make, wrong, text, line):
    lines = wrong(make(text))
    assert len(lines) == 1
    assert lines[0].startswith(line)


def test_a_file_that_is_not_text(make, wrong):
    assert wrong(make(None, {"study.toml": b"[study]\nname = '\xff'"})) == [
        "study.toml: is not UTF-8 text (byte 16)"
    ]


def test_without_the_file_the_nearest_one_is_named(make, wrong, tmp_path):
    lines = wrong(make(None, {"sstudy.toml": "", "labels.txt": "a\nb"}))
    assert lines == ["study.toml: no such file (did you mean 'sstudy.toml'?)"]
    assert wrong(tmp_path / "nowhere") == [f"{tmp_path / 'nowhere'}: no such folder"]


PAID = '[pay]\ncurrency = "GBP"\nminutes = 20\nper_hour = 9\n'
OUT = '\nscreenout_url = "https://a.example/out"'
ONE = '[study]\nlabels = ["cat", "dog"]\n[items]\nsource = "images"\n'


@pytest.mark.parametrize(
    ("added", "line"),
    [
        ("per_annotator = 13", "items.per_annotator = 13: there are only 12 items"),
        ("per_item = 0", "items.per_item = 0: must be 1 or more"),
        ("per_item = 2.5", "items.per_item = 2.5: must be a whole number"),
        ("per_item = true", "items.per_item = true: must be a whole number"),
        ('per_item = "6"', "items.per_item = '6': must be a whole number"),
        (
            "repeats = 13",
            "items.repeats = 13: a person has only 12 items, so at most 12 can be repeated",
        ),
        (
            "per_annotator = 3\nrepeats = 4",
            "items.repeats = 4: a person has only 3 items, so at most 3 can be repeated",
        ),
        (
            "repeat_positions = [5, 12]",
            "items.repeat_positions = 12: a person has 12 items, at positions 0 to 11",
        ),
        (
            "repeats = 1\nrepeat_positions = [5, 6]",
            "items.repeat_positions = [5, 6]: repeats = 1, so there must be as many positions",
        ),
        ("repeat_positions = [5, 5]", "items.repeat_positions = 5: is given more than once"),
        (
            'practice = "images"',
            "items.practice = 'images': is a folder, but a file is needed",
        ),
        ('checks = "study.toml"', "items.checks = 'study.toml': must end in .csv or .jsonl"),
        (
            '[pages]\ncontact = "a\\u0000b"',
            "pages.contact = 'a\\x00b': contains control characters",
        ),
        ("[quiz]\ntries = 0", "quiz.tries = 0: must be 1 or more"),
        (
            '[quiz]\nask = false\n[[quiz.question]]\ntext = "a"\noptions = ["b", "c"]\nright = "b"',
            "quiz.ask = false: there are questions, which nobody would see; delete the tables "
            "[[quiz.question]], or write ask = true",
        ),
        (
            '[[quiz.question]]\ntext = "a"\noptions = ["b"]\nright = "b"',
            "quiz.question[0].options = ['b']: there must be at least two options",
        ),
        (
            '[[quiz.question]]\ntext = "a"\noptions = ["b", "c"]',
            "quiz.question[0].right: is required",
        ),
        (
            '[[debrief.question]]\ntext = "a"\nkind = "text"\noptions = ["b", "c"]',
            "debrief.question[0].kind = 'text': a free text has no options",
        ),
        (
            '[[debrief.question]]\ntext = "a"\noptions = ["b", "b"]',
            "debrief.question[0].options = 'b': is given more than once",
        ),
        (
            '[pay]\ncurrency = "GBP"\nminutes = 5',
            "pay.per_hour: give either per_hour or per_session",
        ),
        ("[pay]\nminutes = 5\nper_hour = 9", "pay.currency: is required"),
        (
            '[pay]\ncurrency = "GBP"\nminutes = nan\nper_hour = 9',
            "pay.minutes = nan: must be a finite number",
        ),
        (
            f'{PAID}bonus_rule = "scores"\n',
            "pay.bonus_rule = 'scores': must be none or fixed or score or column (did you mean "
            "'score'?)",
        ),
        (
            f'{PAID}bonus_rule = "fixed"\n',
            "pay.bonus_amount: is required with bonus_rule = 'fixed', and more than 0",
        ),
        (
            f"{PAID}bonus_max = 2\n",
            "pay.bonus_max = 2.0: has no meaning with bonus_rule = 'none'; it belongs to score",
        ),
        (
            f'{PAID}bonus_rule = "score"\nbonus_max = 1\nbonus_floor = 2\n',
            "pay.bonus_floor = 2.0: is more than bonus_max",
        ),
        (f"{PAID}screenout = 0.145\n", "pay.screenout = 0.145: GBP has 2 digits after the point"),
        (
            f"{PAID}cap_total = 100.5\n".replace("GBP", "JPY"),
            "pay.cap_total = 100.5: JPY has no digits after the point",
        ),
        (
            f"{PAID}cap_per_person = 0.5\n",
            "pay.cap_per_person = 0.5: is less than the 3.00 that one person is promised",
        ),
        (
            f'[recruit]\nkind = "url"\nid_param = "page"\ncomplete_url = "https://a.example/"{OUT}',
            "recruit.id_param = 'page': cannot be the name of a parameter in an address (page is "
            "taken)",
        ),
        (
            f'[recruit]\nkind = "url"\nid_param = "id"{OUT}',
            "recruit.complete_url: is required with kind = 'url'",
        ),
        (
            f'[recruit]\nkind = "url"\nid_param = "id"\ncomplete_url = "javascript:alert(1)"{OUT}',
            "recruit.complete_url = 'javascript:alert(1)': must be a complete address that begins "
            "with https://",
        ),
        (
            '[recruit]\nkind = "url"\nid_param = "i"\n'
            f'complete_url = "https://a.example/{{session}}"{OUT}',
            "recruit.complete_url = 'https://a.example/{session}': may contain only the "
            "placeholders {id} and, with a session_param, {session}",
        ),
        (
            '[recruit]\nkind = "url"\nid_param = "i"\nid_pattern = "["\n'
            f'complete_url = "https://a.example/"{OUT}',
            "recruit.id_pattern = '[': is not a regular expression: unterminated character set at "
            "position 0",
        ),
        (
            '[recruit]\nkind = "prolific"\nscreenout_code = "OUT"',
            "recruit.completion_code: is required with kind = 'prolific'",
        ),
        (
            '[recruit]\nkind = "prolific"\ncompletion_code = "ABC"',
            "recruit.screenout_code: is required with kind = 'prolific': for people who do "
            "not pass the quiz or skip too many items",
        ),
        (
            '[recruit]\nkind = "url"\nid_param = "i"\ncomplete_url = "https://a.example/"',
            "recruit.screenout_url: is required with kind = 'url': for people who do not pass "
            "the quiz or skip too many items",
        ),
        (
            '[recruit]\nkind = "prolific"\ncompletion_code = "ABC"\nscreenout_code = "ABC"',
            "recruit.screenout_code = 'ABC': must differ from completion_code, or people who are "
            "screened out count as complete",
        ),
        ("skip_limit = 1.5", "items.skip_limit = 1.5: must be 1.0 or less"),
        (
            '[recruit]\ncompletion_code = "ABC"',
            "recruit.completion_code = 'ABC': has no meaning with kind = 'open'; it belongs to "
            "prolific",
        ),
        (
            '[pages]\nconsent = ".softlabel/secret.json"',
            "pages.consent = '.softlabel/secret.json': lies in .softlabel, where answers and "
            "secrets are kept",
        ),
        (
            '[pages]\ncontact = "a"\nthanks = "/etc/hostname"',
            "pages.thanks = '/etc/hostname': must be a path inside the study folder, not an "
            "absolute path",
        ),
    ],
)
def test_one_mistake_is_one_line(make, wrong, added, line):
    folder = make(f"{ONE}{added}\n", {".softlabel/secret.json": "{}"})
    assert wrong(folder) == [f"study.toml, {line}"]


BACK = {
    "complete_url": "https://panel.example/done",
    "screenout_url": "https://panel.example/out",
}
PANEL = "".join(f'{key} = "{value}"\n' for key, value in BACK.items())
URL = '[recruit]\nkind = "url"\nid_param = "i"\n'
WHOLE = "must be a complete address that begins with https://"
SPACE = "contains a space, a line break or a backslash; an address has none"
BRACES = "may contain only the placeholders {id} and, with a session_param, {session}"


@pytest.mark.parametrize(
    ("address", "reason"),
    {
        "http://panel.example/done": WHOLE,
        "//panel.example/done": WHOLE,
        "data:text/html,x": WHOLE,
        "https://panel.example:port/": WHOLE,
        "https:///done": f"names no host that people can reach: {WHOLE}",
        "https://nowhere/done": f"names no host that people can reach: {WHOLE}",
        "https://ann:secret@panel.example/": "contains a user name or a password, which everybody "
        "would see",
        "https://panel.example/a\nb": SPACE,
        "https://panel.example\\@evil.example/": SPACE,
        "https://{id}.example/": "may contain placeholders only after the name of the host",
        "https://panel.example/{who}": BRACES,
        "https://panel.example/{id": BRACES,
    }.items(),
)
@pytest.mark.parametrize("key", ["complete_url", "screenout_url", "noconsent_url"])
def test_addresses_that_people_must_not_be_sent_to(make, wrong, key, address, reason):
    lines = "".join(f"{k} = {json.dumps(v)}\n" for k, v in (BACK | {key: address}).items())
    folder = make(f"{ONE}{URL}{lines}")
    assert wrong(folder) == [f"study.toml, recruit.{key} = {address!r}: {reason}"]


@pytest.mark.parametrize("address", ["https://a.example/?x={id}#y", "http://127.0.0.1:8001/done"])
def test_addresses_that_people_may_be_sent_to(make, wrong, address):
    out = 'screenout_url = "https://panel.example/out"'
    assert wrong(make(f'{ONE}{URL}complete_url = "{address}"\n{out}\n')) == []


SLOW = [
    *(r"(a+)+", r"(a*)*b", r"([a-z]+)*[0-9]", r"(a|aa)+", r"(a|a)*", r"(.*)*x", r"(\w+\s?)*"),
    *(r"a*a*a*a*b", r".*.*.*=.*", r"(?:a?){40}a{40}", r"(?=(a+)+b)a+", r"(?:(?:){9999}){9999}a"),
    *(r"((a|b)*c|d)+", r"(x+x+)+y", r"(?>(a+)+)b", r"(a)?(?(1)(b+)+|c)"),
]
USUAL = [
    *(r"^[0-9a-f]{24}$", r"[A-Za-z0-9._@-]{1,128}", r"\d+", r"(?:w_)?[A-Za-z0-9]{5,20}"),
    *(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", r"[A-Z0-9]+-[A-Z0-9]+", r"(A|B|C)[0-9]{4}"),
    *(r"[^@\s]{1,40}@[a-z.]{1,40}\.[a-z]{2,10}", r"(cat|dog)-\d{1,9}"),
]


@pytest.mark.parametrize("pattern", SLOW)
def test_a_pattern_that_could_take_very_long_is_refused(make, wrong, pattern):
    told = wrong(make(f"{ONE}{URL}{PANEL}id_pattern = '{pattern}'\n"))
    assert told == [
        f"study.toml, recruit.id_pattern = {pattern!r}: could take very long to refuse an id: "
        "write no repeat inside a repeat, as in (a+)+, and limit how often, for instance "
        "[A-Za-z0-9_-]{1,64}"
    ]


@pytest.mark.parametrize("pattern", USUAL)
def test_usual_patterns_are_taken_and_do_not_take_long(make, wrong, pattern):
    assert wrong(make(f"{ONE}{URL}{PANEL}id_pattern = '{pattern}'\n")) == []
    for text in ("a" * 199 + "!", "0" * 200, "A-" * 100, "a@" * 100, "a." * 99 + "!"):
        re.fullmatch(pattern, text)  # within milliseconds, or not before the end of the world


@pytest.mark.parametrize(
    ("pattern", "text"), [(".*", "''"), ("[0-9]*", "''"), (".+", "' '"), (r"\S+", "'{{%ID%}}'")]
)
def test_a_pattern_that_takes_anything_for_an_id_is_refused(make, wrong, pattern, text):
    told = wrong(make(f"{ONE}{URL}{PANEL}id_pattern = '{pattern}'\n"))
    assert told == [
        f"study.toml, recruit.id_pattern = {pattern!r}: also matches {text}, which is no id; name "
        "the characters of an id, for instance [A-Za-z0-9_-]{1,64}"
    ]


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        ('["cat", "cat"]', "study.labels = 'cat': is given 2 times"),
        (
            '["cat", "Cat"]',
            "study.labels = 'Cat': differs from 'cat' only in case, spacing or encoding",
        ),
        (
            '["big cat", "big  cat"]',
            "study.labels = 'big  cat': differs from 'big cat' only in case, spacing or encoding",
        ),
        ('["cat", ""]', "study.labels = '': a label is empty"),
        ('["cat", " dog"]', "study.labels = ' dog': a label begins or ends with a space"),
        ('["cat", "d\\tg"]', "study.labels = 'd\\tg': a label contains a control character"),
        (
            '["caf\\u00e9", "cafe\\u0301"]',
            "study.labels = 'cafe\u0301': differs from 'caf\u00e9' only in case, spacing or "
            "encoding",
        ),
        (
            '["cat", "d\\u202eog"]',
            "study.labels = 'd\\u202eog': a label contains an invisible character, U+202E",
        ),
        ('["cat"]', "study.labels = ['cat']: there must be at least two labels"),
        ("5", "study.labels = 5: must be a list of labels, or the name of a file that holds it"),
        ('["cat", 5]', "study.labels[1] = 5: must be a text in quotation marks"),
        ('"images"', "study.labels = 'images': is a folder, but a file is needed"),
    ],
)
def test_labels_that_cannot_stand_beside_each_other(make, wrong, labels, line):
    folder = make(f'[study]\nlabels = {labels}\n[items]\nsource = "images"\n')
    assert wrong(folder) == [f"study.toml, {line}"]


def test_labels_and_source_must_be_given(make, wrong):
    assert wrong(make("")) == [
        "study.toml, study.labels: is required: a list of labels, or a file's name",
        "study.toml, items.source: is required: a folder of pictures, recordings or videos, a "
        ".csv or a .jsonl file",
    ]


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("quick:levels=3", "no option of mode 'quick' called 'levels'"),
        ("chips:n=7", "no choice for 'chips:n=7': n called '7'"),
        ("quick:certainty=90+10", "certainty = '90+10' must be rising whole numbers"),
        ("classic:repairs=p-is-o", "no repair called 'p-is-o' (did you mean 'p-is-0'?)"),
        ("klassic", "no mode called 'klassic' (did you mean 'classic'?)"),
    ],
)
def test_a_mode_and_its_options_are_tried_out(make, wrong, mode, reason):
    (line,) = wrong(
        make(f'[study]\nlabels = ["a", "b"]\nmode = "{mode}"\n[items]\nsource="images"')
    )
    assert line.startswith(f"study.toml, study.mode = {mode!r}: ")
    assert reason in line


def test_synonyms_belong_to_labels_or_their_branches(make, wrong):
    toml = (
        '[study]\nmode = "search"\nlabels = ["pet/cat", "pet/dog"]\n'
        '[study.synonyms]\n"pet/cat" = ["kitten"]\npet = ["animal"]\n"pet/dgo" = ["hound"]\n'
        '"pet/dog" = [""]\n[items]\nsource = "images"\n'
    )
    assert wrong(make(toml)) == [
        "study.toml, study.synonyms.pet/dgo: no such label (did you mean 'pet/dog'?)",
        "study.toml, study.synonyms.pet/dog = '': a word is empty",
    ]


def test_the_same_mistake_in_many_lines_is_listed_once_and_counted(make, wrong):
    rows = "".join(f"{n},images/00.png,Cat\n" for n in range(300))
    toml = '[study]\nlabels = ["cat", "dog"]\n[items]\nsource = "items.csv"\n'
    assert wrong(make(toml, {"items.csv": "id,image,gold\n" + rows})) == [
        "items.csv, line 2, gold = 'Cat': no such label (did you mean 'cat'?) (and 299 more lines)"
    ]
    rows = "".join(f"{n},images/no-{n}.png\n" for n in range(300))
    lines = wrong(make(toml, {"items.csv": "id,image\n" + rows}))
    assert len(lines) == 21
    assert lines[-1] == "items.csv, image: 280 more lines: no such file"


def test_one_mistake_about_a_label_does_not_hide_the_others(make, wrong):
    toml = (
        '[study]\nlabels = ["cat", "dog"]\n[items]\nsource = "images"\n'
        '[labels.cta]\ncolour = "red"\nexamples = ["no.png"]\n'
    )
    assert wrong(make(toml)) == [
        "study.toml, labels.cta.colour = 'red': must be # and three or six digits, such as #0077cc",
        "study.toml, labels.cta: no such label (did you mean 'cat'?)",
        "study.toml, labels.cta.examples[0] = 'no.png': no such file",
    ]


def test_a_table_that_is_there_twice_is_named(make):
    (problem,) = study.find_problems(make('[study]\nlabels = ["a", "b"]\n[pay]\n[pay]\n'))
    assert "line 4" in str(problem)
    assert "the table [pay] is there twice; put all its keys under the first" in str(problem)
