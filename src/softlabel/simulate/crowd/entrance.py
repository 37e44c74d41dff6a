"""The link by which each simulated person comes: as the study's recruiter would send them."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from urllib.parse import urlencode

from softlabel.errors import SoftlabelError
from softlabel.simulate.crowd.people import Somebody
from softlabel.study import Recruit, Study

HEX_ID = 24  # digits of an id on Prolific


def entrances(study: Study, people: Sequence[Somebody], db: str | None) -> list[str]:
    """One path per person.  Ids belong to the seed: the same people come back as themselves."""
    if study.recruit.kind == "invitation":
        return _invitations(study, people, db)
    return [_path(study.recruit, somebody) for somebody in people]


def _path(recruit: Recruit, somebody: Somebody) -> str:
    if recruit.kind == "open":
        return "/"
    if recruit.kind == "prolific":
        names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
        return "/?" + urlencode({name: _hex(somebody, name) for name in names})
    fields = {recruit.id_param or "id": _id(recruit, somebody)}
    if recruit.session_param:
        fields[recruit.session_param] = _hex(somebody, "session")
    return "/?" + urlencode(fields)


def _hex(somebody: Somebody, name: str) -> str:
    return somebody.draw("recruiter", name).bytes(HEX_ID // 2).hex()


def _id(recruit: Recruit, somebody: Somebody) -> str:
    """An id that the study accepts: a readable one, digits or hex, whichever fits its pattern."""
    number = somebody.number
    named = [f"simulated-{somebody.seed}-{number}", f"simulated{number}", f"{number:04d}"]
    for text in (*named, f"{number:08d}", f"A{number:012d}", _hex(somebody, "id")):
        if recruit.id_pattern is None or re.fullmatch(recruit.id_pattern, text):
            return text
    raise SoftlabelError(
        f"study.toml, recruit.id_pattern = {recruit.id_pattern!r}: simulated people have no id "
        f"that fits, for instance {named[0]!r} or {number:04d}; allow one of them for a trial"
    )


def _invitations(study: Study, people: Sequence[Somebody], db: str | None) -> list[str]:
    """New invitations, written into the database of the rehearsal."""
    from softlabel import store
    from softlabel.serve import databases, secret

    tokens = [secret.new_token() for _ in people]
    place = databases.place_of(study.folder, db, rehearsal=True)
    with store.open(place, create=False) as answers:
        for somebody, token in zip(people, tokens, strict=True):
            name = f"simulated-{somebody.seed}-{somebody.number}-{token[:6]}"
            hashed = secret.hash_token(token)
            answers.invite(study.name, name, hashed, time.time()).result()
    return [f"/i/{token}" for token in tokens]
