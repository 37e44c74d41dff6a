"""Votes on texts, and on what comes as labels or features alone: ChaosNLI, POPQUORN, LabelMe,
sentence polarity, parts of speech, RTE, DICES-350, distorted pictures, and thirteen sets for
methods that infer the truth."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from softlabel.datasets import reading
from softlabel.datasets.base import ABOUT, Dataset, Info, Source, find, locate
from softlabel.errors import FileError
from softlabel.sampling import votes_from_counts
from softlabel.tables import Annotations, Index, Ints, Names, names

# ── ChaosNLI ─────────────────────────────────────────────────────────────────────────────────


def load_chaosnli(part: str = "") -> Dataset:
    """Load 100 people's labels, anonymous, for each inference problem of one part; gold is the
    label of the original data set.

    ``texts`` are premise and hypothesis (alphanli: two observations and two hypotheses);
    ``arrays["majority"]`` is the class that the authors took for the winner, also in a tie;
    ``arrays["old_counts"]`` (m, k) are the votes that snli and mnli had before.

    Nie, Zhou & Bansal 2020, "What Can We Learn from Collective Human Opinions on Natural Language
    Inference Data?".  CC BY-NC 4.0.  ``snli`` has 1,514 items, ``mnli`` 1,599, ``alphanli`` 1,532;
    464,500 labels in all, released as counts.
    """
    info = chaosnli.INFO
    suffix = "_m" if info.part(part) == "mnli" else ""
    path = locate(info, f"chaosNLI_{part}{suffix}.jsonl")
    labels, short = ["entailment", "neutral", "contradiction"], "enc"  # as the file calls them
    fields = ["premise", "hypothesis"]
    if part == "alphanli":
        labels, short, fields = ["1", "2"], "12", ["obs1", "obs2", "hyp1", "hyp2"]
    with reading.explain_damage(path):
        rows = reading.read_json_lines(path)
        counts = np.array([row["label_count"] for row in rows], dtype=np.int64)
        old = [row.get("old_labels", []) for row in rows]
        index = Index(names([row["uid"] for row in rows]), names([]), names(labels))
        gold = np.array([short.index(str(row["old_label"])) for row in rows])
        majority = np.array([short.index(str(row["majority_label"])) for row in rows])
        texts = {key: names([row["example"][key] for row in rows]) for key in fields}
    arrays = {"counts": counts, "majority": majority}
    if any(old):
        arrays["old_counts"] = np.array([[row.count(label) for label in labels] for row in old])
    votes = votes_from_counts(index, counts)
    notes = (
        "Annotator ids are not released: the counts are expanded to anonymous votes.",
        "Gold is the label of the original data set; the 100 people often disagree with it.",
    )
    return Dataset(f"chaosnli/{part}", info, index, None, votes, gold, arrays, texts, notes)


chaosnli = Source(Info.of("chaosnli"), load_chaosnli)

# ── POPQUORN ─────────────────────────────────────────────────────────────────────────────────

PERSONAL = ("gender", "race", "age", "occupation", "education")
POLITENESS_COUNTS = "4a820e94d403ac70786a4b040f8c7230c4f35567fa90d48b31463481f559ef0c"


def load_popquorn(part: str = "") -> Dataset:
    """Load ratings from 1 to 5 by a sample of people that represents the United States; the five
    classes are ordered.

    Pei & Jurgens 2023, "When Do Annotator Demographics Matter?".  No licence is stated.
    ``offensiveness`` of 1,500 Reddit comments (13,036 ratings of 262 people, with facts
    about them), ``politeness`` of 3,718 e-mails (25,042 ratings of 506 people).  Texts may offend.
    """
    info = popquorn.INFO
    notes: tuple[str, ...] = ("The classes are ordered.",)
    arrays: dict[str, npt.NDArray[Any]] = {}
    if info.part(part) == "offensiveness":
        path = locate(info, "offensiveness_raw_data.csv")
        votes, frame = _read_ratings(path, "user_id", part, "text", *PERSONAL)
        texts = _first_per_key(frame, "instance_id", "text")
        arrays = {f"annotator_{key}": _first_per_key(frame, "user_id", key) for key in PERSONAL}
        notes += ("arrays['annotator_gender'] and so on hold one entry per annotator.",)
    else:
        votes, _ = _read_ratings(locate(info, "politeness_annotations.csv"), "annotator", part)
        path = locate(info, "politeness_text.jsonl")
        with reading.explain_damage(path):
            text = {str(row["instance_id"]): row["text"] for row in reading.read_json_lines(path)}
            texts = names([text[item] for item in votes.index.items.tolist()])
    notes += reading.note_repeats(votes)
    name, every = f"popquorn/{part}", {"text": texts}
    return Dataset(name, info, votes.index, None, votes, None, arrays, every, notes)


def _read_ratings(path: Path, who: str, what: str, *more: str) -> tuple[Annotations, pl.DataFrame]:
    types = {"instance_id": pl.Int64, who: pl.Int64, what: pl.Float64}
    frame = reading.read_table(path, types | dict.fromkeys(more, pl.String))
    items, item, annotators, annotator = reading.encode_votes(frame, "instance_id", who)
    stars = frame[what].to_numpy()
    wrong = ~np.isin(stars, np.arange(1, 6))
    if wrong.any():
        line = int(wrong.argmax())
        raise FileError(path, "not 1 to 5", line=line + 2, column=what, value=stars[line])
    index = Index(items, annotators, reading.number_names(range(1, 6)), ordered=True)
    return Annotations(index, item, annotator, label=stars.astype(np.int64) - 1), frame


def _first_per_key(frame: pl.DataFrame, key: str, column: str) -> Names:
    """Return a column that repeats with its key, once per key, in the order of the index."""
    return names(frame.unique(key, keep="first").sort(key)[column].to_list())


def _check_politeness(path: Path) -> str:
    """Return what is wrong with the votes; the annotators are numbered anew by every user."""
    votes = _read_ratings(path, "annotator", "politeness")[0]
    got = hashlib.sha256(votes.counts().astype("<i8").tobytes()).hexdigest()
    return "" if got == POLITENESS_COUNTS else f"{path}: the ratings are not the released ones"


popquorn = Source(Info.of("popquorn", politeness_annotations=_check_politeness), load_popquorn)

# ── LabelMe ──────────────────────────────────────────────────────────────────────────────────


def load_labelme() -> Dataset:
    """Load 1,000 photographs of eight kinds of scene, labelled by 59 people, 2.5 labels each.

    ``arrays`` hold ``x_train`` (m, 512) for the items, and ``x_`` and ``y_`` of ``valid`` and
    ``test``, 500 and 1,188 photographs that only the experts labelled.

    Rodrigues & Pereira 2018, "Deep Learning from Crowds"; here with the averaged VGG16 features of
    PyLearningCrowds.  No licence is stated for the data.
    """
    arrays = [f"{x}_{part}" for x in "xy" for part in ("train", "valid", "test")]
    data = reading.read_npz(locate(labelme.INFO, "labelme.npz"), "answers", *arrays)
    answers, gold = data.pop("answers"), data.pop("y_train")
    item, annotator = np.nonzero(answers >= 0)
    items, people = (reading.number_names(range(count)) for count in answers.shape)
    index = Index(items, people, names(ABOUT["classes"]["labelme"]))
    votes = Annotations(index, item, annotator, label=answers[item, annotator])
    return Dataset("labelme", labelme.INFO, index, None, votes, gold, data)


labelme = Source(Info.of("labelme"), load_labelme)

# ── sentence polarity ────────────────────────────────────────────────────────────────────────


def load_sentiment() -> Dataset:
    """Load 4,999 sentences from film reviews, each called good or bad by 5 or 6 of 203 people; the
    3,999 test sentences are ``texts["test_text"]`` with ``arrays["test_gold"]``.

    Rodrigues, Pereira & Ribeiro 2013, "Learning from multiple annotators: distinguishing good from
    random labelers".  No licence is stated.  The same 27,746 labels as ``crowd/sp``, with the text.
    """
    columns = dict.fromkeys(("item", "annotator", "label"), pl.Int64)
    frame = reading.read_table(locate(sentiment.INFO, "annotations.csv"), columns)
    people, annotator = reading.encode(frame["annotator"].to_numpy())
    texts, arrays = {}, {}
    for part, prefix in (("train", ""), ("test", "test_")):
        path = locate(sentiment.INFO, f"{part}.jsonl")
        with reading.explain_damage(path):
            rows = reading.read_json_lines(path)
            texts[f"{prefix}text"] = names([row["text"] for row in rows])
            arrays[f"{prefix}gold"] = np.array([row["gold"] for row in rows])
    gold = arrays.pop("gold")
    index = Index(reading.number_names(range(len(gold))), people, names(["negative", "positive"]))
    votes = Annotations(index, frame["item"].to_numpy(), annotator, label=frame["label"].to_numpy())
    notes = reading.note_repeats(votes)
    return Dataset("sentiment", sentiment.INFO, index, None, votes, gold, arrays, texts, notes)


sentiment = Source(Info.of("sentiment"), load_sentiment)

# ── parts of speech ──────────────────────────────────────────────────────────────────────────

TAGS = ["ADJ", "ADP", "ADV", "CONJ", "DET", "NOUN", "NUM", "PRON", "PRT", ".", "VERB", "X"]
TRAIN = 13_000  # words before the development part of Fornaciari et al. 2021 begins


def load_pos() -> Dataset:
    """Load the tags that 177 people gave to 14,439 words from 1,000 tweets: 236,380 labels in
    twelve classes, with ``texts["word"]`` and ``arrays["is_dev"]`` per word.

    With ``lowlands.test.tsv`` also a test set: ``texts["test_word"]``, ``arrays["test_gold"]``
    and ``arrays["test_tweet"]``.  With ``tokens.csv``, the table of Fornaciari et al. 2021, also
    ``arrays["tweet"]``: the crowd's own file does not mark where tweets begin.

    Hovy, Plank & Søgaard 2014, "Experiments with crowdsourced re-annotation of a POS tagging data
    set", on the tweets of Gimpel et al. 2011.  No licence is stated.
    """
    path = locate(pos.INFO, "gimpel_annotations.csv")
    frame = reading.read_table(path, {"token": pl.Int64, "annotator": pl.Int64, "tag": pl.String})
    tags = _encode_tags(path, frame["tag"])
    path = locate(pos.INFO, "gimpel_tokens.csv")
    words = reading.read_table(path, {"id": pl.Int64, "word": pl.String, "gold": pl.String})
    gold = _encode_tags(path, words["gold"])
    people, annotator = reading.encode(frame["annotator"].to_numpy())
    index = Index(reading.number_names(range(len(words))), people, names(TAGS))
    votes = Annotations(index, frame["token"].to_numpy(), annotator, label=tags)
    arrays: dict[str, npt.NDArray[Any]] = {"is_dev": np.arange(len(words)) >= TRAIN}
    tokens = find(pos.INFO, "tokens.csv")
    if tokens is not None:
        tweets = reading.read_table(tokens, {"source": pl.String, "id_sent": pl.Int64})
        arrays["tweet"] = tweets.filter(pl.col("source") == "gimpel")["id_sent"].to_numpy()
    texts = {"word": names(words["word"].to_list())}
    test = find(pos.INFO, "lowlands.test.tsv")
    if test is not None:
        rows: list[tuple[str, int, int]] = []
        tweet = 0
        with reading.open_text(test) as text:
            for line in text:  # a word and its tag, or nothing where a tweet ends
                word, tab, tag = line.rstrip("\r\n").partition("\t")
                if tab:
                    rows.append((word, TAGS.index(tag), tweet))
                else:
                    tweet += 1
        texts["test_word"] = names([row[0] for row in rows])
        arrays["test_gold"], arrays["test_tweet"] = np.array([row[1:] for row in rows]).T
    everybody = int((votes.votes_per_item() == len(people)).sum())
    note = (
        f"{everybody} words have a label of all {len(people)} annotators, mostly @USER and URL "
        "tagged by a program; most other words have five."
    )
    notes = (note, *reading.note_repeats(votes))
    return Dataset("pos", pos.INFO, index, None, votes, gold, arrays, texts, notes)


def _encode_tags(path: Path, tags: pl.Series) -> Ints:
    with reading.explain_damage(path):
        codes: Ints = tags.cast(pl.Enum(TAGS)).to_physical().to_numpy()
        return codes


pos = Source(Info.of("pos"), load_pos)

# ── RTE-1 ────────────────────────────────────────────────────────────────────────────────────


def load_rte() -> Dataset:
    """Load 800 pairs of texts: does the premise entail the hypothesis?  8,000 labels, ten for each
    pair, by 164 workers; ``texts`` are ``premise``, ``hypothesis`` and ``task`` (kind of source).

    Snow, O'Connor, Jurafsky & Ng 2008, "Cheap and Fast - But is it Good?", on the pairs of the
    first PASCAL challenge (Dagan et al. 2005).  No licence is stated.
    """
    path = locate(rte.INFO, "annotations.csv")
    frame = reading.read_table(path, dict.fromkeys(("item", "worker", "label", "gold"), pl.Int64))
    items, item, workers, worker = reading.encode_votes(frame, "item", "worker")
    gold = np.full(len(items), -1)
    gold[item] = frame["gold"].to_numpy()
    path = locate(rte.INFO, "text.jsonl")
    with reading.explain_damage(path):
        pairs = {str(row["item"]): row for row in reading.read_json_lines(path)}
        texts = {
            key: names([pairs[name][key] for name in items.tolist()])
            for key in ("premise", "hypothesis", "task")
        }
    index = Index(items, workers, names(["not entailed", "entailed"]))
    votes = Annotations(index, item, worker, label=frame["label"].to_numpy())
    notes = reading.note_repeats(votes)
    return Dataset("rte", rte.INFO, index, None, votes, gold, texts=texts, notes=notes)


rte = Source(Info.of("rte"), load_rte)

# ── truth inference ──────────────────────────────────────────────────────────────────────────


def load_crowd(part: str = "") -> Dataset:
    """Load the votes of one of thirteen label-only sets with workers, and gold where it is known.

    Gathered by Li, Rubinstein & Cohn 2019, "Truth Inference at Scale", from SpectralMethodsMeetEM,
    active-crowd-toolkit, crowd_truth_inference and CrowdScale 2013.  The collection is under the
    MIT licence.  From 300 items (cf) to 42,624 (fact_eval, 216,725 labels); in some sets gold
    covers a part of the items only, and some hold several labels of one worker for one item.
    """
    name = crowd.INFO.part(part)
    labels_path, truth_path = (locate(crowd.INFO, f"{name}.{x}.csv") for x in ("label", "truth"))
    frame = reading.read_table(labels_path, dict.fromkeys(("item", "worker", "label"), pl.Int64))
    truth = reading.read_table(truth_path, dict.fromkeys(("item", "truth"), pl.Int64))
    items, item, workers, worker = reading.encode_votes(frame, "item", "worker")
    with reading.explain_damage(truth_path):
        k = 1 + max(frame["label"].to_numpy().max(), truth["truth"].to_numpy().max())
        code = {name: i for i, name in enumerate(items.tolist())}
        gold = np.full(len(items), -1)
        gold[[code[str(i)] for i in truth["item"].to_list()]] = truth["truth"].to_numpy()
    index = Index(items, workers, reading.number_names(range(k)))
    votes = Annotations(index, item, worker, label=frame["label"].to_numpy())
    known = int((gold >= 0).sum())
    notes = reading.note_repeats(votes)
    if known < len(gold):
        notes += (f"Gold is known for {known} of {len(gold)} items.",)
    return Dataset(f"crowd/{part}", crowd.INFO, index, None, votes, gold, notes=notes)


crowd = Source(Info.of("crowd"), load_crowd)

# ── DICES-350 ────────────────────────────────────────────────────────────────────────────────


def load_dices() -> Dataset:
    """Load the answers of 123 people to 350 conversations: is what the chatbot says safe?  No, Yes
    or Unsure; everybody answered everything (43,050 answers).

    Aroyo et al. 2023, "DICES Dataset: Diversity in Conversational AI Evaluation for Safety", in the
    form of JUDGE-BENCH.  CC BY 4.0.  That form has no ids; the position in the list of answers is
    the rater: the means by position vary 75 times as much as those of exchangeable answers.
    """
    path = locate(dices.INFO, "dices_350_crowdsourced.json")
    with reading.explain_damage(path):
        whole = json.loads(reading.read_bytes(path))
        (question,) = whole["annotations"]
        labels, rows = question["labels_list"], whole["instances"]
        said = [row["annotations"][question["metric"]]["individual_human_scores"] for row in rows]
        people = len(said[0])
        if short := [i for i, answers in enumerate(said) if len(answers) != people]:
            reason = "so their positions are not people"
            raise FileError(path, f"lists of answers differ in length at {short[0]}, {reason}")
        label = np.array([labels.index(answer) for answers in said for answer in answers])
        texts = {key: names([row["instance"][key] for row in rows]) for key in rows[0]["instance"]}
        items = names([str(row["id"]) for row in rows])
    index = Index(items, reading.number_names(range(people)), names(labels))
    item, annotator = np.divmod(np.arange(len(label)), people)
    votes = Annotations(index, item, annotator, label=label)
    notes = (
        "Annotators are positions in the lists of answers, which have no ids.",
        "19 of the 123 raters were later removed for low quality; which is not in this release.",
    )
    return Dataset("dices", dices.INFO, index, None, votes, None, texts=texts, notes=notes)


dices = Source(Info.of("dices"), load_dices)

# ── model-vs-human ───────────────────────────────────────────────────────────────────────────

TRIALS = ("experiment", "subj", "object_response", "category", "condition", "imagename")
NO_ANSWER = "na"
BEFORE_IMAGE = r"^\d+_[a-z0-9]+_s\d+_"  # in the name of a picture: trial, experiment, person


def load_model_vs_human(part: str = "") -> Dataset:
    """Load what people named in distorted pictures: one of 16 classes, within 1.5 seconds.

    A part is an experiment, a kind of distortion; its people are not those of another part.
    ``arrays["rt_ms"]`` is the reaction time of each row, ``arrays["condition"]`` the strength of
    the distortion of each item, and gold what the picture shows (``cue-conflict``: its shape).

    Geirhos et al. 2021, "Partial success in closing the gap between human and machine vision".
    85,120 trials on 18,080 pictures, which are not here; 597 without an answer are left out.
    """
    info = model_vs_human.INFO
    info.part(part)
    path = locate(info, "trials.csv")
    types = dict.fromkeys(TRIALS, pl.String) | {"rt": pl.Float64}
    frame = reading.read_table(path, types).filter(pl.col("experiment") == part)
    frame = frame.with_columns(item=pl.col("imagename").str.replace(BEFORE_IMAGE, ""))
    trials = frame.filter(pl.col("object_response") != NO_ANSWER)
    pictures = frame.unique("item", keep="first", maintain_order=True)
    with reading.explain_damage(path):
        labels = sorted(frame["category"].unique())
        code = pl.Enum(labels)
        gold = pictures["category"].cast(code).to_physical().to_numpy()
        label = trials["object_response"].cast(code).to_physical().to_numpy()
        item = trials["item"].cast(pl.Enum(pictures["item"])).to_physical().to_numpy()
    people, annotator = reading.encode(trials["subj"].to_list())
    index = Index(names(pictures["item"].to_list()), people, names(labels))
    votes = Annotations(index, item.astype(np.int64), annotator, label=label.astype(np.int64))
    arrays = {
        "rt_ms": trials["rt"].to_numpy() * 1000,
        "condition": names(pictures["condition"].to_list()),
    }
    missing = len(frame) - len(trials)
    notes = (f"{missing} trials without an answer in time are left out.",)
    name, gold = f"model_vs_human/{part}", gold.astype(np.int64)
    return Dataset(name, info, index, None, votes, gold, arrays, notes=notes)


model_vs_human = Source(Info.of("model_vs_human"), load_model_vs_human)
