"""The study on Prolific: draft it from ``study.toml``, publish it, pause it."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from softlabel.errors import SoftlabelError
from softlabel.serve.recruit.link import write_link
from softlabel.serve.recruit.prolific import Json, Unclear
from softlabel.serve.recruit.submissions import KIND, Desk
from softlabel.serve.recruit.webhooks import PATH
from softlabel.study import Advert, Study, money

PARAMETERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
RETURN_REASON = "You did not agree to take part."
RUNNING = ("ACTIVE", "PUBLISHING", "SCHEDULED")
DRAFT = "UNPUBLISHED"
ENDINGS = {  # the type of each completion code, and what Prolific does with it
    "completion_code": ("COMPLETED", {"action": "MANUALLY_REVIEW"}),
    "screenout_code": ("OTHER", {"action": "MANUALLY_REVIEW"}),
    "skip_code": ("OTHER", {"action": "MANUALLY_REVIEW"}),
    "noconsent_code": (
        "NO_CONSENT",
        {"action": "REQUEST_RETURN", "return_reason": RETURN_REASON},
    ),
}


def get_advert(study: Study) -> Advert:
    """Return how the study is announced; raise if it cannot be."""
    if study.recruit.kind != KIND:
        raise SoftlabelError(
            f"study {study.name!r} recruits by {study.recruit.kind!r}; "
            '[recruit] kind = "prolific" in study.toml announces it on Prolific'
        )
    if study.advert is None:
        raise SoftlabelError(
            "study.toml does not say what people are paid: add [pay] with currency, minutes and "
            "per_session, or reward and minutes under [prolific]"
        )
    return study.advert


def describe(study: Study, url: str, internal_name: str) -> dict[str, Any]:
    """Return the study as Prolific's API takes it; the reward is in the smallest unit."""
    advert = get_advert(study)
    query = "&".join(f"{name}={{{{%{name}%}}}}" for name in PARAMETERS)
    codes: list[dict[str, Any]] = []
    for key, (kind, action) in ENDINGS.items():
        code = getattr(study.recruit, key)
        if code is not None and all(code != one["code"] for one in codes):
            codes.append(
                {"code": code, "code_type": kind, "actor": "participant", "actions": [action]}
            )
    fields = {
        "name": advert.name,
        "internal_name": internal_name,
        "description": advert.description,
        "external_study_url": f"{url.rstrip('/')}/?{query}",
        "prolific_id_option": "url_parameters",
        "is_external_study_url_secure": study.recruit.signed,
        "completion_codes": codes,
        "total_available_places": advert.places,
        "estimated_completion_time": advert.minutes,
        "reward": count_units(study),
        "device_compatibility": list(advert.devices),
        "peripheral_requirements": [],
        "filters": [dict(one) for one in advert.filters],
        "is_custom_screening": True,
    }
    return fields | ({"project": advert.project} if advert.project else {})


def count_units(study: Study) -> int:
    """Return the reward of one person in the smallest unit of the currency."""
    currency = study.pay.currency if study.pay else "GBP"
    return money.round_half_up(money.to_units(get_advert(study).reward, currency))


def draft(desk: Desk, url: str) -> str:
    """Create the draft, or bring it up to date; return what was done.

    A draft whose creation was cut off is found again by its internal name, and not made twice.
    """
    study, client, link = desk.study, desk.client, desk.link
    if link.hook is None:  # before anything is made there
        _check_target(url)
    name = f"softlabel {study.name} {desk.store.id}"
    fields = describe(study, url, name)
    known = client.get_study(link.study) if link.study else client.find_study(name)
    if known is None:
        known, done = _create(desk, fields, name), "created"
    elif known["status"] == DRAFT:
        known, done = client.change_study(known["id"], fields), "changed"
    else:
        known, done = _add_places(desk, known, fields["total_available_places"])
    link = replace(link, study=str(known["id"]))
    write_link(study.folder, link)
    if link.hook is None:
        workspace = client.get_workspace(get_advert(study).project)
        hook, secret = client.subscribe(workspace, url.rstrip("/") + PATH)
        write_link(study.folder, replace(link, hook=hook, secret=secret))
    desk.log("draft", id=known["id"], done=done)
    return f"{done}: study {known['id']}, {known['status']}"


def _create(desk: Desk, fields: Json, name: str) -> Json:
    try:
        return desk.client.create_study(fields)
    except Unclear:
        known = desk.client.find_study(name)
        if known is None:
            raise
        return known


def _add_places(desk: Desk, known: Json, places: int) -> tuple[Json, str]:
    """Of a published study only the number of places can change, and it only grows."""
    if places < known["total_available_places"]:
        raise SoftlabelError(
            f"study {known['id']} is {known['status']} with {known['total_available_places']} "
            f"places; places cannot be taken away there, so [prolific] places = {places} is too few"
        )
    if places == known["total_available_places"]:
        return known, "unchanged"
    changed = desk.client.change_study(known["id"], {"total_available_places": places})
    return changed, f"{places} places"


def _check_target(url: str) -> None:
    """Refuse an address at which Prolific's messages cannot arrive."""
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in ("127.0.0.1", "localhost", "::1"):
        raise SoftlabelError(f"--url {url!r}: Prolific sends messages to https:// addresses only")


def publish(desk: Desk) -> str:
    """Publish the draft, or go on after a pause; return the new status."""
    status = desk.client.get_study(desk.remote)["status"]
    if status in RUNNING:
        return f"{status} already"
    action = "START" if status == "PAUSED" else "PUBLISH"
    desk.log(action.lower(), id=desk.remote)
    desk.client.move_study(desk.remote, action)
    return str(desk.client.get_study(desk.remote)["status"])


def pause(desk: Desk) -> str:
    """Let nobody new in; return the new status."""
    status = desk.client.get_study(desk.remote)["status"]
    if status not in RUNNING:
        return f"{status} already"
    desk.log("pause", id=desk.remote)
    desk.client.move_study(desk.remote, "PAUSE")
    return str(desk.client.get_study(desk.remote)["status"])
