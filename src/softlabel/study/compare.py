"""The ``[compare]`` table: which ways of asking are compared, and who is asked in which."""

from collections.abc import Iterable, Mapping
from itertools import product

from softlabel.elicit import Mode
from softlabel.errors import nearest
from softlabel.study.batches import Targets
from softlabel.study.labels import Labels, try_mode
from softlabel.study.model import Arm, Compare
from softlabel.study.settings import Reader

BETWEEN = "/"  # the mode and the wording of an arm
ALL = "all"  # what ``softlabel label --arm`` calls all arms together


def read_compare(
    reader: Reader, labels: Labels | None, mode: Mode | None, targets: Targets
) -> Compare | None:
    """Return what is compared, ``mode`` first; None if nothing is, or if it cannot be."""
    section, before = reader.file.compare, len(reader.findings)
    if mode is None or reader.is_broken("compare", "compare.modes", "compare.wordings"):
        return None
    if not section.model_fields_set:
        return None
    modes = _read_modes(reader, labels, mode)
    _check_wordings(reader, section.wordings)
    if not section.modes and not section.wordings:
        reader.refuse("compare", None, "needs modes or wordings to compare")
    elif max(len(section.modes), 1) * max(len(section.wordings), 1) < 2:
        key = "modes" if section.modes else "wordings"
        reader.refuse(f"compare.{key}", None, "has one entry; a comparison needs two or more")
    if len(reader.findings) > before:
        return None
    arms = _choose_arms(reader, _combine(reader, modes))
    names = [arm.name for arm in arms]
    _refuse_unknown(reader, "compare.weights", section.weights, names)
    _check_batches(reader, targets, modes)
    own = [item.id for item in targets.items if item.question]
    if section.wordings and own:
        reason = f"{own[0]} has a question of its own, which is asked in every arm"
        reader.note("compare.wordings", None, reason)
    weights = tuple(section.weights.get(name, 1) for name in names)
    return Compare(arms, weights, section.by)


def _read_modes(reader: Reader, labels: Labels | None, mode: Mode) -> dict[str, Mode]:
    """Return the modes by the text that names them; the study's own if none are compared."""
    first, *others = reader.file.compare.modes or [reader.file.study.mode]
    modes = {first: mode}
    for place, text in enumerate(others, 1):
        key = f"compare.modes[{place}]"
        if text in modes:
            reader.refuse(key, text, "is there twice")
        elif (tried := try_mode(reader, key, text, labels)) is not None:
            modes[text] = tried
    return modes


def _check_wordings(reader: Reader, wordings: Mapping[str, str]) -> None:
    for name in wordings:
        if BETWEEN in name or name != name.strip() or name in ("", ALL):
            reason = f"must be a short name other than {ALL}, without {BETWEEN} and outer spaces"
            reader.refuse(f"compare.wordings.{name}", None, reason)
    if wordings and reader.file.study.question is not None:
        reason = "compare.wordings holds the questions; leave this one out"
        reader.refuse("study.question", reader.file.study.question, reason)


def _combine(reader: Reader, modes: Mapping[str, Mode]) -> dict[str, Arm]:
    """Return every mode with every wording, by name."""
    section, question = reader.file.compare, reader.file.study.question
    wordings: list[tuple[str | None, str | None]] = [*section.wordings.items()]
    arms = {}
    for (text, mode), (wording, asked) in product(modes.items(), wordings or [(None, question)]):
        parts = [text] if section.modes else []
        name = BETWEEN.join([*parts, wording] if wording is not None else parts)
        arms[name] = Arm(name, mode, text, wording, asked)
    return arms


def _choose_arms(reader: Reader, every: Mapping[str, Arm]) -> tuple[Arm, ...]:
    """Return the arms that the study lists; all if it lists none."""
    wanted = reader.file.compare.arms
    if not wanted:
        return tuple(every.values())
    _refuse_unknown(reader, "compare.arms", wanted, list(every))
    if len(set(wanted)) < max(2, len(wanted)):
        reader.refuse("compare.arms", None, "must hold two arms or more, each once")
    return tuple(every[name] for name in dict.fromkeys(wanted) if name in every)


def _refuse_unknown(reader: Reader, key: str, given: Iterable[str], known: list[str]) -> None:
    for name in given:
        if name not in known:
            hint = nearest(name, known) or f"; there are: {', '.join(known)}"
            reader.refuse(key, name, f"no such arm{hint}")


def _check_batches(reader: Reader, targets: Targets, modes: Mapping[str, Mode]) -> None:
    """Refuse to assign by batch where there are none, or where nobody could be told how to answer:
    people read the instructions before they get a batch."""
    if reader.file.compare.by == "person":
        return
    if not targets.batches:
        reader.refuse("compare.by", "batch", "needs batches: a column batch, or items.allocation")
    if len(modes) > 1 and reader.file.pages.instructions is None:
        reason = "people read the instructions before they get a batch, and the default ones "
        reason += "explain one mode; write pages.instructions that explain all of them"
        reader.refuse("compare.by", "batch", reason)
