"""``[allocate]`` of ``study.toml``: how a running study decides what to ask next.

The settings are a policy of the family ``policy`` with its options, and what bounds it: answers per
item, seconds of people's time or money, and models that have answered before.
"""

import re
from dataclasses import replace
from typing import Any

from softlabel import registry
from softlabel.errors import SoftlabelError
from softlabel.study.batches import Targets
from softlabel.study.model import Allocate
from softlabel.study.schema import AllocateSection
from softlabel.study.settings import Reader

FIRST, FIRST_WITH_JUDGES = 2, 1  # answers that every item gets before any is chosen
TIMES = 4  # the mean number of answers, at most, for one item
MONEY = re.compile(r"(\d+(?:\.\d+)?) ?([A-Z]{3})")
JUDGES = "judges"  # the folder in which softlabel judge keeps what models said
IN_POLICY = ("least", "most", "stop", "explore")  # options of a policy that are keys as well


def read_allocate(reader: Reader, targets: Targets) -> Allocate | None:
    """Return how items are allocated live; None if they are not, or if that is wrong."""
    section = reader.file.allocate
    if section is None:
        return None
    if targets.batches:
        reason = "gives each person other items, so the study cannot have batches: remove either"
        reader.refuse("allocate", None, reason)
    _check_judges(reader, section.judges)
    policy = _read_policy(reader, section)
    seconds, money = _read_budget(reader, section.budget)
    if policy is None:
        return None
    return Allocate(
        policy=registry.describe(policy),
        least=policy.least,
        most=policy.most,
        seconds=seconds,
        money=money,
        judges=section.judges,
    )


def _read_policy(reader: Reader, section: AllocateSection) -> Any:
    """Return the policy with all its options, or None."""
    per_item = reader.file.items.per_item
    try:
        policy = registry.parse("policy", section.policy)
        own = registry.settings(policy)
        given = {key: getattr(section, key) for key in IN_POLICY}
        for key in IN_POLICY:
            if key in own and given[key] is not None:
                reason = f"is also an option of policy = {section.policy!r}; give it once"
                reader.refuse(f"allocate.{key}", given[key], reason)
        first = FIRST_WITH_JUDGES if section.judges else FIRST
        usual = {"least": min(first, per_item), "most": TIMES * per_item}
        chosen = {key: value for key, value in given.items() if value is not None}
        policy = replace(policy, **(usual | own_limits(own) | chosen))
    except SoftlabelError as error:
        reader.refuse("allocate.policy", section.policy, str(error))
        return None
    if policy.most < per_item and not reader.is_broken("items.per_item", "allocate.most"):
        reason = f"is less than items.per_item = {per_item}, the mean of all items"
        reader.refuse("allocate.most", policy.most, reason)
    if policy.least > per_item and not reader.is_broken("items.per_item", "allocate.least"):
        reason = f"is more than items.per_item = {per_item}, the mean of all items"
        reader.refuse("allocate.least", policy.least, reason)
    return policy


def own_limits(own: dict[str, Any]) -> dict[str, Any]:
    """Return those options that the text of a policy gives and that are keys as well."""
    return {key: value for key, value in own.items() if key in IN_POLICY}


def _read_budget(reader: Reader, budget: float | str | None) -> tuple[float | None, float | None]:
    """Return the budget in seconds, or in money of the study's currency."""
    if not isinstance(budget, str):
        return budget, None
    pay, found = reader.file.pay, MONEY.fullmatch(budget)
    if found is None or not float(found[1]):
        reason = 'must be seconds as a number, or money with its currency, such as "200 GBP"'
        reader.refuse("allocate.budget", budget, reason)
    elif pay is None:
        if not any(key.startswith("pay") for key in reader.broken):
            reason = "is money, and the study has no [pay]; add it, or give seconds"
            reader.refuse("allocate.budget", budget, reason)
    elif pay.currency != found[2]:
        reason = f"is not in the currency of [pay], {pay.currency}"
        reader.refuse("allocate.budget", budget, reason)
    else:
        return None, float(found[1])
    return None, None


def _check_judges(reader: Reader, judges: bool | str) -> None:
    """Refuse models of which nothing is kept in the folder."""
    if judges is False:
        return
    kept = sorted(path.stem for path in (reader.folder / JUDGES).glob("*.jsonl"))
    if judges is True and not kept:
        reason = "there is no answer of a model in the folder judges; ask one with softlabel judge"
        reader.refuse("allocate.judges", True, reason)
    if isinstance(judges, str) and judges not in kept:
        there = f"there are: {', '.join(kept)}" if kept else "ask it with softlabel judge"
        reader.refuse("allocate.judges", judges, f"no judges/{judges}.jsonl; {there}")
