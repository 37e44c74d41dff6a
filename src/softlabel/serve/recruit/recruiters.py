"""How participants arrive and where they return to, for each kind of recruiter.

Personal invitations are made, revoked and looked up here as well.
"""

import logging
import os
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args
from urllib.parse import quote, urlsplit

from softlabel.errors import SoftlabelError, StoreError, UnknownName
from softlabel.serve.secret import Secret, hash_token, new_token
from softlabel.store import Store, rows
from softlabel.study import MAX_ID_LENGTH, Recruit, Study

Outcome = Literal["complete", "screenout", "noconsent", "skips"]
OUTCOMES: dict[str, Outcome] = {  # by the stage at which a session ended
    "done": "complete",
    "screened-out": "screenout",
    "full": "screenout",
    "no-consent": "noconsent",
    "withdrawn": "noconsent",
}

PROLIFIC_URL = "https://api.prolific.com"

log = logging.getLogger("softlabel.serve")


def prolific_url() -> str:
    """Return the address of Prolific, or of what the environment names in its place."""
    return os.environ.get("PROLIFIC_URL", "").rstrip("/") or PROLIFIC_URL


@dataclass(frozen=True)
class Arrival:
    """Who arrived, with the recruiter's own ids; these are never stored as they are."""

    id: str
    session: str | None = None


@dataclass(frozen=True)
class Refused:
    """Parameters that are no arrival; ``text`` is the key of the message on the page."""

    text: str
    values: Mapping[str, str]
    status: int = 400


class Recruiter:
    """How people arrive, and where they return to.  ``walk_in``: anybody may begin."""

    name: ClassVar[str]
    walk_in: ClassVar[bool] = False
    fetches: ClassVar[bool] = False  # whether to look at parameters may need the network
    missing: ClassVar[str] = "entry_missing"  # the message for people who come without parameters

    def __init__(self, settings: Recruit) -> None:
        self.settings = settings
        outcomes: tuple[Outcome, ...] = get_args(Outcome)
        given = settings
        codes = [given.completion_code, given.screenout_code, given.noconsent_code]
        codes.append(given.skip_code or given.screenout_code)
        urls = [given.complete_url, given.screenout_url, given.noconsent_url]
        urls.append(given.skip_url or given.screenout_url)
        self.codes = dict(zip(outcomes, codes, strict=True))  # to enter at the platform by hand
        self.addresses = dict(zip(outcomes, urls, strict=True))  # with blanks {id} and {session}

    def arrival(self, parameters: Mapping[str, str]) -> Arrival | Refused | None:
        """Return who the parameters of the address name; None if they name nobody."""
        return None

    def platform(self) -> dict[str, str] | None:
        """Return name and address of the site people came from, for those who end on an error."""
        return None

    def needs_arrival(self) -> bool:
        """Whether some return address carries what the recruiter sent."""
        addresses = [address or "" for address in self.addresses.values()]
        return any("{id}" in one or "{session}" in one for one in addresses)


class Open(Recruiter):
    """Anybody with the address may take part, once per browser; there are no ids."""

    name = "open"
    walk_in = True


class Invitation(Recruiter):
    """People enter by ``/i/TOKEN`` alone; ``softlabel invite`` makes these links."""

    name = "invitation"
    missing = "entry_invitation"


class Prolific(Recruiter):
    """Prolific sends three ids of 24 hexadecimal digits; SESSION_ID is its submission."""

    name = "prolific"
    missing = "entry_prolific"
    parameters = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")

    def arrival(self, parameters: Mapping[str, str]) -> Arrival | Refused | None:
        if not set(self.parameters) & parameters.keys():
            return None
        for name in self.parameters:
            if not re.fullmatch(r"[0-9a-f]{24}", parameters.get(name, "")):
                return Refused("entry_parameter", {"name": name})
        return Arrival(parameters["PROLIFIC_PID"], parameters["SESSION_ID"])

    def platform(self) -> dict[str, str] | None:
        return {"name": "Prolific", "address": "https://app.prolific.com/"}


class SignedProlific(Prolific):
    """Prolific's secure links: the three ids are inside a token that Prolific has signed.

    ``audience`` are the names under which people reach us; a token for another site is refused.
    ``study`` returns the id of our study there, if it is known.
    """

    fetches = True
    parameter = "prolific_token"

    def __init__(
        self, settings: Recruit, audience: Collection[str], study: Callable[[], str | None]
    ) -> None:
        from softlabel.serve.recruit.signed import KeyRing, Verifier

        super().__init__(settings)
        self.verifier, self.study = Verifier(KeyRing(prolific_url()), audience), study

    def arrival(self, parameters: Mapping[str, str]) -> Arrival | Refused | None:
        from softlabel.serve.recruit.signed import NoKeys, Unsigned

        token = parameters.get(self.parameter)
        if token is None:  # plain ids prove nothing here
            return Refused(self.missing, {}) if set(self.parameters) & parameters.keys() else None
        try:
            ids = self.verifier.read(token)
        except Unsigned as error:
            log.info("a token was refused: %s", error)
            return Refused("entry_unsigned", {})
        except NoKeys:
            return Refused("entry_later", {}, 503)
        if self.study() not in (None, ids.get("STUDY_ID")):
            return Refused("entry_unsigned", {})
        return super().arrival(ids)


class Url(Recruiter):
    """Any recruiter that sends an id in the address; the study file names the parameters."""

    name = "url"

    def arrival(self, parameters: Mapping[str, str]) -> Arrival | Refused | None:
        person, session = self.settings.id_param, self.settings.session_param
        pattern = self.settings.id_pattern
        assert person is not None, "the study file names the parameter"
        assert pattern is not None, "the study reader fills in a pattern"
        if person not in parameters:
            return None
        id = parameters[person]
        if not (0 < len(id) <= MAX_ID_LENGTH and re.fullmatch(pattern, id)):
            return Refused("entry_parameter", {"name": person})
        if session is None:
            return Arrival(id)
        if not 0 < len(parameters.get(session, "")) <= MAX_ID_LENGTH:
            return Refused("entry_parameter", {"name": session})
        return Arrival(id, parameters[session])

    def platform(self) -> dict[str, str] | None:
        parts = urlsplit(self.settings.complete_url or "")
        address = f"{parts.scheme}://{parts.netloc}/"
        return {"name": parts.netloc, "address": address} if parts.netloc else None


KINDS: tuple[type[Recruiter], ...] = (Open, Prolific, Url, Invitation)
RECRUITERS = {kind.name: kind for kind in KINDS}


def make_recruiter(
    settings: Recruit,
    audience: Collection[str] = (),
    study: Callable[[], str | None] = lambda: None,
) -> Recruiter:
    """Make the recruiter that a study names; see ``SignedProlific`` about the other arguments."""
    if settings.kind not in RECRUITERS:
        raise UnknownName("recruiter", settings.kind, RECRUITERS)
    if settings.signed:
        return SignedProlific(settings, audience, study)
    return RECRUITERS[settings.kind](settings)


def find_outcome(stage: str | None, skipped: int = 0) -> Outcome | None:
    """Return how a session ended; whoever was screened out after ``skipped`` items skipped too many
    of them, because the quiz comes before the first."""
    return "skips" if stage == "screened-out" and skipped else OUTCOMES.get(stage or "")


def fill_address(address: str, arrival: Arrival | None) -> str | None:
    """Fill the blanks of a return address; None if the values are no longer known."""
    blanks = {"{id}": arrival and arrival.id, "{session}": arrival and arrival.session}
    for blank, value in blanks.items():
        if blank in address:
            if not value:
                return None
            address = address.replace(blank, quote(value, safe=""))
    return address


def invite(study: Study, store: Store, secret: Secret, name: str, now: float) -> str:
    """Return the path of a new personal link; the token in it is stored nowhere."""
    if study.recruit.kind != Invitation.name:
        raise SoftlabelError(
            f"study {study.name!r} recruits by {study.recruit.kind!r}; "
            '[recruit] kind = "invitation" in study.toml opens it to personal links'
        )
    if not name.strip():
        raise SoftlabelError(f"{name!r} is not a name: give the name of the person to invite")
    token = new_token()
    annotator = secret.pseudonym(Invitation.name, name)
    store.invite(study.name, name, hash_token(token), now, annotator=annotator).result()
    return f"/i/{token}"


def revoke(study: Study, store: Store, name: str, now: float) -> None:
    """End a link, and its session if that is still under way; the answers stay."""
    store.revoke(study.name, name, now).result()
    invited = next(one for one in store.invitations(study.name) if one.name == name)
    session = invited.annotator and store.session_of(study.name, invited.annotator)
    if session and session.stage not in rows.FINAL_STAGES:
        store.set_stage(session.id, "closed", event="revoked", detail={}, now=now).result()


def find_annotator(study: Study, store: Store, secret: Secret, person: str) -> str:
    """Return the pseudonym of a person.

    ``person`` is the pseudonym, the recruiter's id, the invited name, or the code for deletion
    that an open study shows.
    """
    invited = {one.annotator for one in store.invitations(study.name)}
    for annotator in (person, *(secret.pseudonym(kind, person) for kind in RECRUITERS)):
        if annotator in invited or store.session_of(study.name, annotator) is not None:
            return annotator
    code = "".join(person.split()).replace("-", "").upper()
    for session in store.sessions(study.name):
        if secret.deletion_code(session.annotator).replace("-", "") == code:
            return session.annotator
    raise StoreError(
        f"study {study.name!r} has nobody called {person!r}: this is no pseudonym, no recruiter's "
        "id, no invited name and no code for deletion"
    )
