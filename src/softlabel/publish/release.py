"""Write a release: tables, documents and checksums, all made before the first is put in place."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from softlabel._util.progress import Progress, silent
from softlabel.errors import FileError, SoftlabelError
from softlabel.publish import personal
from softlabel.publish.describing import describe_release
from softlabel.publish.documents import (
    SUMS,
    find_licence,
    read_sums,
    write_documents,
    write_sums,
)
from softlabel.publish.material import Choices, Material, read_material
from softlabel.publish.tables import MEDIA, make_tables, name_media

Facts = dict[str, str]


def publish(
    material: Material,
    out: str | Path,
    choices: Choices,
    replace: bool = False,
    progress: Progress = silent,
) -> Facts:
    """Write a data set that can be cited; return what happened on the way.

    The same material and choices give the same bytes.  Free texts and what looks personal are
    listed in a file beside ``out``; what looks personal stops the release unless it is accepted.
    """
    out = Path(out)
    if choices.items and material.study is None:
        raise SoftlabelError("--include-items needs the study folder: an export has no items")
    licence = find_licence(choices.licence)
    old = check_folder(out, replace)
    reading = read_material(material, choices, progress)
    texts = personal.collect_texts(material, reading.pseudonyms)
    allowed = {} if choices.text is None else personal.read_review(choices.text, texts)
    progress("making tables")
    tables = make_tables(material, reading, allowed, choices.items)
    findings = personal.check_tables(tables, material)
    review = personal.review_path(out)
    if to_review := (bool(texts) and choices.text is None) or bool(findings):
        personal.write_review(review, texts, findings)
    if findings and not choices.accept:
        raise personal.refuse(findings, review)
    facts = describe_release(material, choices, reading, tables, (texts, allowed, findings))
    progress("writing")
    # beside the release, so that moving is a matter of names
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as folder:
        made = Path(folder)
        for table in tables:
            table.write(made)
        if choices.items:
            _copy_media(material, made)
        write_documents(made, facts, licence)
        write_sums(made)
        _move(made, out, old)
    said = {
        "items": f"{facts['n_items']:,}",
        "annotators": f"{facts['n_people']:,}",
        "answers": f"{facts['n_given']:,}, of which {facts['n_counted']:,} count",
        "pool": f"{facts['pool']} ({facts['estimates']})",
        "intervals": "90 %" if facts["limits"] else "none, with this pool",
        "agreement": f"alpha {facts['alpha']}" if facts["alpha"] else "not known",
        "licence": licence.name,
        "free texts": f"{len(allowed):,} of {len(texts):,} published",
    }
    if to_review:
        said["to review"] = str(review)
    return said | {"wrote": str(out)}


def check_folder(out: Path, replace: bool) -> Sequence[str]:
    """Return the files of an earlier release that a new one replaces; refuse a folder with anything
    else in it, hidden files excepted (``.git``)."""
    if not out.parent.is_dir():
        raise FileError(out, f"there is no folder {str(out.parent)!r} to write to")
    if out.exists() and not out.is_dir():
        raise FileError(out, "is a file; name a folder")
    if not out.is_dir():
        return ()
    shown = [path for path in out.rglob("*") if not _is_hidden(path.relative_to(out))]
    here = sorted(path.relative_to(out).as_posix() for path in shown if path.is_file())
    if not here:
        return ()
    if not replace:
        raise FileError(out, "is not empty; name another folder, or replace it with --replace")
    listed = read_sums(out)
    foreign = [name for name in here if name not in listed and name != SUMS]
    if foreign:
        reason = f"holds {foreign[0]!r}, which no release wrote; move it away, or name another one"
        raise FileError(out, reason)
    return here


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _copy_media(material: Material, folder: Path) -> None:
    study = material.study
    shown = {str(record["item"]) for record in material.records}
    items = [study.find(name) for name in shown if study.has(name)] if study else []
    files = {name_media(media): media.path for item in items for media in item.media}
    if files:
        (folder / MEDIA).mkdir()
    for name, path in sorted(files.items()):
        shutil.copyfile(path, folder / name)


def _move(made: Path, out: Path, old: Sequence[str]) -> None:
    """Put the new files in the place of the old ones; the checksums come last."""
    out.mkdir(exist_ok=True)
    for name in old:
        (out / name).unlink()
    if (out / MEDIA).is_dir() and not any((out / MEDIA).iterdir()):
        (out / MEDIA).rmdir()
    files = sorted(path.relative_to(made) for path in made.rglob("*") if path.is_file())
    for file in sorted(files, key=lambda path: path.name == SUMS):
        (out / file).parent.mkdir(exist_ok=True)
        (made / file).replace(out / file)
