"""The files of other programs, told apart by their content.

To add a format: a class in a file of this folder, and a line here.  ``claims`` looks at the head of
a file; ``read`` returns a table of rows and what was left out; ``write``, where there is one, takes
what ``holds`` names: answers, pooled labels, or only items.
"""

from pathlib import Path

from softlabel.errors import FileError
from softlabel.io.formats.argilla import Argilla
from softlabel.io.formats.base import (
    Format,
    Head,
    Made,
    Row,
    Table,
    hide_annotators,
    make_answers,
    read_head,
)
from softlabel.io.formats.crowds import Cleanlab, CrowdKit, MTurk, Toloka
from softlabel.io.formats.doccano import Doccano
from softlabel.io.formats.judges import AltTest, ChaosNli, JudgeBench
from softlabel.io.formats.label_studio import LabelStudio
from softlabel.io.formats.lewidi import LeWiDi
from softlabel.io.formats.potato import Potato
from softlabel.io.formats.prodigy import Prodigy
from softlabel.io.formats.web_annotation import WebAnnotation
from softlabel.registry import FAMILIES

ALL: tuple[type[Format], ...] = (
    *(LabelStudio, Potato, Prodigy, Argilla, Doccano, LeWiDi),
    *(AltTest, JudgeBench, ChaosNli, CrowdKit, Toloka, Cleanlab, MTurk, WebAnnotation),
)
FAMILIES["format"].update({kind.name: kind for kind in ALL})
BROKEN = (KeyError, AttributeError, TypeError, IndexError, ValueError)  # of a shape not expected

__all__ = [
    "ALL", "Format", "Head", "Made", "Row", "Table", "find_format", "hide_annotators",
    "make_answers", "read_head", "read_table",
]  # fmt: skip


def find_format(
    path: Path, given: Format | None = None, *, named: bool = False
) -> tuple[Format, Head] | None:
    """Return the format of a file and how it begins; None if it is one of our own tables.  With
    ``named`` the columns of a table were named: what has those of votes is a table of votes."""
    if given is not None and type(given) is CrowdKit:
        return None  # the reader of votes knows its columns
    head = read_head(path)
    if given is not None:
        if head is None:
            raise FileError(path, f"is not {given.name}: neither JSON nor a table nor a folder")
        others = [kind.name for kind in ALL if kind.claims(head)]
        if others and given.name not in others:
            raise FileError(path, f"does not look like {given.name}, but like {others[0]}")
        return given, head
    claimed = [] if head is None else [kind for kind in ALL if kind.claims(head)]
    if named and head is not None and head.kind == "table" and Doccano in claimed:
        return None
    if len(claimed) > 1:
        both = " and ".join(kind.name for kind in claimed)
        reason = f"looks like {both}; say which with --from {claimed[0].name}"
        raise FileError(path, reason)
    return (claimed[0](), head) if claimed and head is not None else None


def read_table(how: Format, head: Head) -> Table:
    """Read a file; what is not as the format has it is a mistake of the file."""
    try:
        return how.read(head)
    except FileError:
        raise
    except BROKEN as error:
        what = f"{type(error).__name__}: {error}"
        raise FileError(head.path, f"is not sound {how.name} ({what})") from error
