"""Publish a study as a data set that can be cited: tables, card, Croissant, data statement."""

from typing import TYPE_CHECKING

from softlabel._util.doors import lazy_names

if TYPE_CHECKING:
    from softlabel.publish.documents import explain_licences, find_licence
    from softlabel.publish.material import Choices, Material
    from softlabel.publish.personal import find_personal
    from softlabel.publish.release import check_folder, publish

__all__ = [
    "Choices", "Material", "check_folder", "explain_licences", "find_licence", "find_personal",
    "publish",
]  # fmt: skip

__getattr__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(("Choices", "Material"), "material"),
        **dict.fromkeys(("explain_licences", "find_licence"), "documents"),
        "find_personal": "personal",
        **dict.fromkeys(("check_folder", "publish"), "release"),
    },
    ("publishing a study", "serve"),
)
