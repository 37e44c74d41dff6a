"""Nothing that identifies a person is published: what looks like it is found, and free text is
listed for review.

The review file stands beside the release, never in it.  It has a row per free text and per finding;
a text is published if its column ``publish`` says yes.
"""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from ipaddress import AddressValueError, IPv6Address
from pathlib import Path
from typing import NamedTuple

from softlabel._util.files import shorten, write_atomically
from softlabel.errors import FileError, SoftlabelError
from softlabel.io import escape_formula
from softlabel.publish.material import Material
from softlabel.publish.tables import Table
from softlabel.records import COMMENT, dump_json

Texts = dict[tuple[str, ...], str]  # what, annotator, item or question, detail: the text

COLUMNS = ("what", "annotator", "where", "detail", "text", "looks_like", "publish")
FOUND = "found"  # what: something in a table, not a text that can be published by saying yes
YES, NO = ("yes", "y"), ("", "no", "n")
SHOWN = 5  # findings in a message
HASHES = ("digest", "media", "image", "image_2", "audio", "video")  # columns of hashes, not words
ENOUGH_DIGITS = range(8, 16)  # of a telephone number with its country
PATTERNS: Mapping[str, re.Pattern[str]] = {
    "Prolific id": re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{24}(?![0-9A-Za-z])"),
    "Mechanical Turk id": re.compile(
        r"(?<![0-9A-Za-z])A(?=[A-Z]*\d)[0-9A-Z]{11,19}(?![0-9A-Za-z])"
    ),
    "e-mail address": re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)+"),
    "IP address": re.compile(
        r"(?<![\d.])(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)(?![\d.])"
        r"|(?<![\w:])[0-9A-Fa-f:]{5,39}(?![\w:])"
    ),
    "telephone number": re.compile(
        r"(?<![\w.+-])(?:\+\d[\d ()./-]{6,18}\d|\(\d{3}\) ?\d{3}[-. ]\d{4}|\d{3}[-.]\d{3}[-.]\d{4}"
        r"|0\d{2,4}[ /-]\d{5,9})(?![\w-])"
    ),
}


class Finding(NamedTuple):
    """Something in a table that looks personal: where it is, what it looks like, and the text."""

    table: str
    column: str
    row: str
    looks_like: str
    text: str

    def __str__(self) -> str:
        place = f"{self.table}, column {self.column}, row {self.row}"
        return f"{place}: looks like {self.looks_like} ({shorten(self.text)})"


def find_personal(text: str, allowed: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Yield what in a text looks personal and what it looks like; ``allowed`` are known to be
    harmless, such as the address that participants write to."""
    for kind, pattern in PATTERNS.items():
        for match in pattern.findall(text):
            if match not in allowed and _is_plausible(kind, match):
                yield kind, match


def _is_plausible(kind: str, match: str) -> bool:
    if kind == "telephone number" and match.startswith("+"):
        return sum(character.isdigit() for character in match) in ENOUGH_DIGITS
    if kind == "IP address" and ":" in match:
        try:
            return match.count(":") > 2 and bool(IPv6Address(match))
        except AddressValueError:
            return False
    return True if kind != "IP address" else "." in match


def check_tables(tables: Sequence[Table], material: Material) -> list[Finding]:
    """Return what looks personal in the tables, and in the words of the study that the card has."""
    study = material.study
    allowed = {study.contact} if study else set()
    found = []
    for table in tables:
        names = [c.name for c in table.columns if c.kind == "text" and c.name not in HASHES]
        for name in names:
            for row, text in enumerate(table.frame[name].to_list()):
                for kind, match in find_personal(text or "", allowed):
                    found.append(Finding(table.name, name, str(row), kind, match))
    words = {} if study is None else {"title": study.title, "description": study.description}
    if study is not None:
        words |= {"question": study.question or "", "instructions": "\n".join(study.instructions)}
    for name, text in words.items():
        found += [Finding("study", name, "-", *one) for one in find_personal(text, allowed)]
    return found


# ── free text ────────────────────────────────────────────────────────────────────────────────


def collect_texts(material: Material, pseudonyms: Mapping[str | None, str | None]) -> Texts:
    """Return every free text: comments, answers to the questions before and after the items, and
    the researcher's reasons for leaving people out."""
    texts: Texts = {}
    for record in material.records:
        who = pseudonyms[record["annotator"]] or ""
        if record.get("excluded"):
            texts["excluded", who, "", ""] = str(record["excluded"])
        if record.get(COMMENT):
            position = str(record["presentation"].get("position"))
            texts["comment", who, str(record["item"]), position] = str(record[COMMENT])
    for line in material.questions:
        person, answer = pseudonyms.get(line["annotator"]), line["answer"]
        if person is None or answer in (None, "", []):
            continue  # nobody who answered an item, or no answer
        asked = str(line.get("text") or "")
        said = answer if isinstance(answer, str) else dump_json(answer)
        texts[str(line["stage"]), person, str(line["question"]), asked] = said
    return texts


def review_path(out: Path) -> Path:
    """Return the place of the review file: beside the release, so that it is not published."""
    return out.with_name(f"{out.name}.review.csv")


def write_review(path: Path, texts: Texts, findings: Sequence[Finding]) -> None:
    """Write the texts to decide on, then the findings to look at.  What was decided in an earlier
    file about the same text stays."""
    decided = {}
    if path.is_file():
        decided = {_key(row): row["publish"] for _, row in _read_rows(path) if row["publish"]}
    rows = [row | {"publish": decided.get(_key(row), "")} for row in _list_rows(texts, findings)]
    with (
        write_atomically(path, private=True) as part,
        part.open("w", newline="", encoding="utf-8") as file,
    ):
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def _key(row: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(row[column] for column in COLUMNS[:5])


def _list_rows(texts: Texts, findings: Sequence[Finding]) -> Iterator[dict[str, str]]:
    listed: list[tuple[str, ...]] = []
    for key, text in sorted(texts.items()):
        looks = "; ".join(dict.fromkeys(kind for kind, _ in find_personal(text)))
        listed.append((*key, text, looks, ""))
    for one in findings:
        place = (f"{one.table}.{one.column}", f"row {one.row}")
        listed.append((FOUND, "", *place, one.text, one.looks_like, ""))
    for cells in listed:
        yield dict(zip(COLUMNS, (str(escape_formula(cell)) for cell in cells), strict=True))


def _read_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a review file with their lines; refuse a file of another kind."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        for number, row in enumerate(csv.DictReader(file), 2):
            if missing := [column for column in COLUMNS if row.get(column) is None]:
                raise FileError(
                    path, "is no review file: a column is missing", line=number, column=missing[0]
                )
            yield number, row


def read_review(path: Path, texts: Texts) -> Texts:
    """Return the texts that a reviewed file allows to publish; refuse a file about other texts."""
    if not path.is_file():
        raise FileError(path, "there is no such file; publish without --include-text to make it")
    rows = zip(sorted(texts), _list_rows(texts, ()), strict=True)
    known = {_key(row): key for key, row in rows}
    allowed: Texts = {}
    for line, row in _read_rows(path):
        said = row["publish"].strip().lower()
        if said not in (*YES, *NO):
            raise FileError(path, "say yes or no", line=line, column="publish", value=said)
        if row["what"] == FOUND or said in NO:
            continue
        key = known.get(_key(row))
        if key is None:
            reason = "the study has no such text now; publish without --include-text, and review"
            value = shorten(row["text"])
            raise FileError(path, reason, line=line, column="text", value=value)
        allowed[key] = texts[key]
    return allowed


def refuse(findings: Sequence[Finding], review: Path) -> SoftlabelError:
    """Return the error that names the first findings and says what to do."""
    listed = "\n".join(f"  {one}" for one in findings[:SHOWN])
    more = f"\n  and {len(findings) - SHOWN} more" if len(findings) > SHOWN else ""
    return SoftlabelError(
        f"{len(findings)} texts look as if they identify a person:\n{listed}{more}\n"
        f"All are listed in {review}. Remove them or, if they are harmless, publish "
        "with --accept-findings."
    )
