"""What the card and the other documents say of a release: numbers and words for the templates."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from softlabel import __version__, registry
from softlabel.publish.material import SIMULATED, Choices, Material, Reading, kind_of
from softlabel.publish.personal import Finding, Texts
from softlabel.publish.tables import CHANNELS, Table, measure_seconds, read_time
from softlabel.records import CHECKS, PRACTICE
from softlabel.tables import ESTIMATES, Score

UNWRITTEN = "*To be written by you.*"
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
LARGEST = "1M<n<10M"
TASKS = {"image": "image", "image_2": "image", "audio": "audio", "video": "video"}
CROWDS = ("prolific", "url", "open")  # kinds of recruiting by which anybody may come


def describe_release(
    material: Material,
    choices: Choices,
    reading: Reading,
    tables: Sequence[Table],
    kept: tuple[Texts, Texts, Sequence[Finding]],
) -> dict[str, Any]:
    """Return everything that the templates name; ``kept`` are all free texts, those published, and
    what looked personal and was accepted."""
    study, records = material.study, material.records
    texts, published, findings = kept
    days = sorted(at.date().isoformat() for record in records if (at := read_time(record)))
    return {
        "name": material.name,
        "title": study.title if study else material.name,
        "description": (study.description if study else "") or UNWRITTEN,
        "unwritten": UNWRITTEN,
        "version": choices.version,
        "authors": choices.authors,
        "url": choices.url,
        "date": choices.date or (days[-1] if days else ""),
        "first_day": days[0] if days else "",
        "last_day": days[-1] if days else "",
        "labels": material.labels,
        "about": {name: one.describe for name, one in study.about.items()} if study else {},
        "study": study,
        "tables": tables,
        "rows": {table.name: table.frame.height for table in tables},
        "softlabel": __version__,
        "content": choices.items,
        "has_media": bool(study and any(item.media for item in study.items)),
        "texts": Counter(sorted(key[0] for key in texts)),
        "published_texts": Counter(key[0] for key in published),
        "findings": Counter(sorted(one.looks_like for one in findings)),
        **_describe_people(material),
        **_describe_answers(material, reading),
        **_describe_labels(choices, reading),
        **_describe_pay(material),
    }


def _describe_people(material: Material) -> dict[str, Any]:
    people = {record["annotator"]: record for record in material.records}
    out = {record["annotator"] for record in material.records if record.get("excluded")}
    simulated = sum(kind_of(record) == SIMULATED for record in people.values())
    study = material.study
    if simulated == len(people):
        creators = "machine-generated"
    elif study is not None and study.recruit.kind in CROWDS:
        creators = "crowdsourced"
    else:
        creators = "other"
    return {
        "n_people": len(people),
        "n_simulated": simulated,
        "n_excluded": len(out),
        "creators": creators,
        "recruited": study.recruit.kind if study else "",
        "languages": study.languages if study else (),
    }


def _describe_answers(material: Material, reading: Reading) -> dict[str, Any]:
    records = material.records
    given = [record for record in records if record["answer"] is not None]
    kinds = Counter(record["presentation"]["kind"] for record in given)
    times = [s for record in given if (s := measure_seconds(record))]
    sessions: dict[str, float] = {}
    for record in records:
        session = str(record.get("session"))
        sessions[session] = sessions.get(session, 0.0) + (measure_seconds(record) or 0.0)
    counts = reading.pooled.count[reading.pooled.answered]
    return {
        "n_given": len(given),
        "n_counted": int(reading.counted.sum()),
        "n_practice": kinds[PRACTICE],
        "n_checks": sum(kinds[kind] for kind in CHECKS),
        "n_repeats": kinds["repeat"],
        "n_superseded": sum(bool(record.get("supersedes")) for record in records),
        "skips": Counter(sorted(r["skip"] for r in records if r["answer"] is None)),
        "seconds": median(times) if times else None,
        "minutes": median(sessions.values()) / 60 if times else None,
        "asked": sorted({_name_form(record["presentation"]) for record in given}),
        "frames": sorted({str(record["presentation"].get("frame")) for record in given}),
        "n_items": int(reading.pooled.answered.sum()),
        "per_item": (int(counts.min()), float(counts.mean()), int(counts.max())),
    }


def _name_form(shown: Mapping[str, Any]) -> str:
    return f"{shown.get('mode')} (version {shown.get('mode_version')})"


def _describe_labels(choices: Choices, reading: Reading) -> dict[str, Any]:
    agreed = reading.agreement
    return {
        "construction": reading.facts["construction"],
        "votes": reading.votes,
        "pool": registry.describe(choices.aggregate),
        "estimates": ESTIMATES[reading.pooled.estimand],
        "truth": reading.pooled.estimand == "truth",
        "limits": bool(reading.limits),
        "alpha": _write_score(agreed.alpha) if agreed else "",
        "observed": _write_score(agreed.observed) if agreed else "",
        "n_shared": agreed.shared if agreed else 0,
    }


def _write_score(score: Score) -> str:
    """Write ``0.61 [0.55, 0.66]``, or nothing if it is undefined."""
    if not math.isfinite(score.value):
        return ""
    return f"{score.value:.2f} [{score.low:.2f}, {score.high:.2f}]"


def _describe_pay(material: Material) -> dict[str, Any]:
    pay = material.study.pay if material.study else None
    if pay is None:
        return {"pay": None}
    by = f"{pay.per_hour:.2f} {pay.currency} per hour" if pay.per_hour is not None else ""
    return {
        "pay": pay,
        "session_pay": f"{pay.session:.2f} {pay.currency}",
        "hourly_pay": by,
    }


def make_head(facts: Mapping[str, Any], licence: str) -> dict[str, Any]:
    """Return the head of the card, as Hugging Face reads it."""
    head: dict[str, Any] = {
        "pretty_name": facts["title"],
        "license": licence,
        "annotations_creators": [facts["creators"]],
        "language": list(facts["languages"]),
        "source_datasets": ["original"],
        "task_categories": _find_tasks(facts),
        "size_categories": [size_category(facts["rows"]["labels"])],
        "tags": ["soft-labels", "human-label-variation", "softlabel", "croissant"],
        "configs": [
            {"config_name": table.name, "data_files": table.file}
            | ({"default": True} if table.name == "labels" else {})
            for table in facts["tables"]
        ],
        "dataset_info": [
            {"config_name": table.name, "features": table.features()} for table in facts["tables"]
        ],
    }
    return {key: value for key, value in head.items() if value}


def size_category(rows: int) -> str:
    """Return the name of a size on Hugging Face."""
    return next((name for most, name in SIZES if rows < most), LARGEST)


def _find_tasks(facts: Mapping[str, Any]) -> list[str]:
    study = facts["study"]
    if study is None:
        return []
    kinds = {TASKS[name] for item in study.items for name in CHANNELS if getattr(item, name)}
    if any(item.text or item.texts for item in study.items):
        kinds.add("text")
    return sorted(f"{kind}-classification" for kind in kinds)
