"""A folder without ``study.toml``: pictures, a list of labels and an allocation are enough.

They are the three things that Collins et al. ask for when their study is taken to a new domain.
"""

from __future__ import annotations

import json
from pathlib import Path

LABELS = ("labels.txt", "labels.json")
ALLOCATIONS = (".json", ".js")
SETTINGS = """\
[study]
labels = {labels}
mode = "classic"
frame = "third_person"

[items]
source = {source}
allocation = {allocation}
"""


def settings_of(folder: Path) -> str | None:
    """What ``study.toml`` would say; None if the folder holds anything else, or anything less."""
    entries = sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    folders = [entry.name for entry in entries if entry.is_dir()]
    labels = [entry.name for entry in entries if entry.name in LABELS]
    files = [entry for entry in entries if not entry.is_dir() and entry.name not in LABELS]
    if not (len(folders) == len(labels) == len(files) == 1):
        return None
    if files[0].suffix.lower() not in ALLOCATIONS:
        return None
    names = {"labels": labels[0], "source": folders[0], "allocation": files[0].name}
    quoted = {key: json.dumps(name, ensure_ascii=False) for key, name in names.items()}
    return SETTINGS.format(**quoted)
