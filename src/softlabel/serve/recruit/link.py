"""What a study folder knows about its counterpart on Prolific: one private file.

It holds the id of the study there, and the secret with which Prolific signs its messages.  The API
token is never written anywhere: it comes from the environment.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from softlabel.errors import SoftlabelError
from softlabel.serve.recruit.recruiters import prolific_url
from softlabel.serve.secret import FOLDER, make_private_folder, write_private

NAME = "prolific.json"


@dataclass(frozen=True)
class Link:
    """``url`` is the platform, so that a rehearsal is never taken for the real one; ``study`` the
    id of the study there, ``hook`` that of the subscription, ``secret`` signs its messages."""

    url: str
    study: str | None = None
    hook: str | None = None
    secret: str | None = None


def read_link(folder: Path) -> Link:
    """Return what is known about the study at the platform of this environment."""
    path, url = folder / FOLDER / NAME, prolific_url()
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        link = Link(**fields)
    except FileNotFoundError:
        return Link(url)
    except (ValueError, TypeError) as wrong:
        raise SoftlabelError(
            f"{path}: cannot be read ({wrong}); delete it, and softlabel prolific draft finds the "
            "study on Prolific again"
        ) from wrong
    return link if link.url == url else Link(url)


def write_link(folder: Path, link: Link) -> None:
    """Keep what is known, closed to other users."""
    path = make_private_folder(folder) / NAME
    write_private(path, json.dumps(asdict(link)) + "\n", overwrite=True)
