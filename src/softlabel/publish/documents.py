"""The documents beside the tables: card, data statement, citation, guidelines and Croissant.

Their words are in ``templates``; here are their shapes.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from softlabel.errors import SoftlabelError, UnknownName
from softlabel.publish.describing import make_head
from softlabel.publish.tables import KINDS, MEDIA, Column, Table

HERE = Path(__file__).parent
LICENCES: Mapping[str, Mapping[str, str]] = tomllib.loads(
    (HERE / "licences.toml").read_text("utf-8")
)
CONTEXT = json.loads((HERE / "croissant.json").read_text("utf-8"))
CROISSANT, SUMS = "croissant.json", "SHA256SUMS"
CONFORMS_TO = ("http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0")
ONE_VALUE = (  # the others may be several
    *("rai:dataCollection", "rai:dataCollectionMissingData", "rai:dataCollectionRawData"),
    *("rai:dataAnnotationProtocol", "rai:annotationsPerItem", "rai:dataReleaseMaintenancePlan"),
)


class Licence(NamedTuple):
    """A licence: its SPDX name, its name on Hugging Face, where it is, and what it means."""

    name: str
    hub: str
    url: str
    about: str


def find_licence(name: str) -> Licence:
    """Return a licence by its SPDX name, in any case, or terms of your own by their address; an
    error explains the usual ones."""
    for known, about in LICENCES.items():
        if name.lower() == known.lower():
            return Licence(known, **about)
    if name.startswith(("https://", "http://")):
        return Licence(name, "other", name, "terms of your own")
    more = "or give the address of your own terms (https://…)"
    raise SoftlabelError(f"{UnknownName('licence', name, LICENCES)}; {more}\n{explain_licences()}")


def explain_licences() -> str:
    """Return the usual licences of data sets, one per line."""
    width = max(map(len, LICENCES))
    return "\n".join(f"  {name:<{width}}  {about['about']}" for name, about in LICENCES.items())


def write_documents(folder: Path, facts: Mapping[str, Any], licence: Licence) -> None:
    """Write every document into a folder that has the tables."""
    words = {**facts, "licence": licence.name, "licence_url": licence.url}
    words["head"] = _write_yaml(make_head(facts, licence.hub))
    for name in ("README.md", "DATASTATEMENT.md", "CITATION.cff"):
        _write(folder / name, name, words)
    if facts["study"] is not None and facts["study"].instructions:
        _write(folder / "GUIDELINES.md", "GUIDELINES.md", words)
    if (folder / MEDIA).is_dir():
        _write(folder / MEDIA / "README.md", "media.md", words)
    croissant = make_croissant(folder, words)
    text = json.dumps(croissant, indent=2, ensure_ascii=False)
    (folder / CROISSANT).write_text(f"{text}\n", "utf-8")


def _write(path: Path, template: str, words: Mapping[str, Any]) -> None:
    text = _templates().get_template(template).render(words)
    path.write_text(f"{_tidy(text)}\n", "utf-8")


def _tidy(text: str) -> str:
    """Return the text without two empty lines in a row, and without one at its end."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip() or (lines and lines[-1]):
            lines.append(line.rstrip())
    return "\n".join(lines).strip("\n")


def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown and YAML, not HTML
    )
    made.filters["count"] = lambda number: f"{number:,}"
    made.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
    made.filters["line"] = lambda text: " ".join(str(text).split()).replace("|", "\\|")
    return made


def _write_yaml(head: Mapping[str, Any]) -> str:
    """Write YAML that every parser reads alike: values are JSON, a long list has many lines."""
    lines = []
    for key, value in head.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            lines.append(f"{key}:")
            for entry in value:
                first, *rest = entry.items()
                lines += [f"- {first[0]}: {_flow(first[1])}"]
                for name, inner in rest:
                    if isinstance(inner, list):
                        lines += [f"  {name}:", *(f"  - {_flow(one)}" for one in inner)]
                    else:
                        lines.append(f"  {name}: {_flow(inner)}")
        else:
            lines.append(f"{key}: {_flow(value)}")
    return "\n".join(lines)


def _flow(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# ── Croissant ────────────────────────────────────────────────────────────────────────────────


def make_croissant(folder: Path, words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description for programs: files with checksums, tables, and how labels came about
    (Croissant 1.1 with RAI 1.0)."""
    tables: Sequence[Table] = words["tables"]
    authors = [{"@type": "sc:Person", "name": author} for author in words["authors"]]
    whole = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "name": words["name"],
        "alternateName": words["title"],
        "description": words["description"],
        "conformsTo": list(CONFORMS_TO),
        "license": words["licence_url"],
        "url": words["url"],
        "version": words["version"],
        "datePublished": words["date"],
        "creator": authors,
        "inLanguage": list(words["languages"]),
        "keywords": ["soft labels", "human label variation"],
        "citeAs": _cite(words),
        **_describe_annotation(words),
        "distribution": [_describe_file(folder, table) for table in tables],
        "recordSet": [_list_classes(words["labels"]), *map(_describe_table, tables)],
    }
    return {key: value for key, value in whole.items() if value not in ("", [], None)}


def _cite(words: Mapping[str, Any]) -> str:
    authors = " and ".join(words["authors"])
    facts = {"title": words["title"], "author": authors, "year": words["date"][:4]}
    facts |= {"version": words["version"], "url": words["url"]}
    inside = ", ".join(f"{key} = {{{value}}}" for key, value in facts.items() if value)
    return f"@misc{{{words['name']}, {inside}}}"


def _describe_annotation(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties of responsible AI, whose words are in ``rai.txt``."""
    said: dict[str, Any] = {}
    for line in _tidy(_templates().get_template("rai.txt").render(words)).splitlines():
        name, colon, text = line.partition(": ")
        if not colon:
            continue
        key = f"rai:{name}"
        if key in ONE_VALUE:
            said[key] = text
        else:
            said.setdefault(key, []).append(text)
    return said


def _describe_file(folder: Path, table: Table) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": table.file,
        "name": table.file,
        "description": table.about,
        "contentUrl": table.file,
        "contentSize": f"{(folder / table.file).stat().st_size} B",
        "encodingFormat": "application/x-parquet",
        "sha256": digest(folder / table.file),
    }


def _describe_table(table: Table) -> dict[str, Any]:
    about: dict[str, Any] = {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "description": table.about,
        "field": [_describe_column(table, column) for column in table.columns],
    }
    keys = {"labels": "item", "items": "item", "annotators": "annotator"}
    if table.name in keys:
        about["key"] = {"@id": f"{table.name}/{keys[table.name]}"}
    return about


def _describe_column(table: Table, column: Column) -> dict[str, Any]:
    name, kind = f"{table.name}/{column.name}", KINDS[column.kind][2]
    labelled = column.kind in ("class", "shares") and column.name in ("label", "soft_label")
    about: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": name,
        "name": name,
        "description": column.about,
        "dataType": [kind, "cr:Label"] if labelled else kind,
        "source": {"fileObject": {"@id": table.file}, "extract": {"column": column.name}},
    }
    if column.kind == "shares":
        about |= {"isArray": True, "arrayShape": str(len(table.labels))}
    if column.name == "annotator":
        about["equivalentProperty"] = "http://www.w3.org/ns/prov#wasAttributedTo"
    return about


def _list_classes(labels: Sequence[str]) -> dict[str, Any]:
    """Return the names of the classes as a small table inside the description."""
    return {
        "@type": "cr:RecordSet",
        "@id": "classes",
        "name": "classes",
        "description": "The classes, in the order in which shares are listed.",
        "dataType": "sc:Enumeration",
        "key": {"@id": "classes/code"},
        "field": [
            {"@type": "cr:Field", "@id": f"classes/{name}", "name": f"classes/{name}"}
            | {"dataType": kind}
            for name, kind in (("code", "sc:Integer"), ("name", "sc:Text"))
        ],
        "data": [{"classes/code": i, "classes/name": label} for i, label in enumerate(labels)],
    }


# ── checksums ────────────────────────────────────────────────────────────────────────────────


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def write_sums(folder: Path) -> None:
    """Write the checksums of all files, as ``sha256sum -c`` reads them."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and p.name != SUMS)
    lines = [f"{digest(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / SUMS).write_text("".join(lines), "utf-8")


def read_sums(folder: Path) -> dict[str, str]:
    """Return the files that a release has listed, with their checksums; nothing if it has none."""
    if not (folder / SUMS).is_file():
        return {}
    lines = (folder / SUMS).read_text("utf-8").splitlines()
    return {name: sha for sha, _, name in (line.partition("  ") for line in lines)}
