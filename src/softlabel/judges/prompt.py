"""From an item of a study to what a model is asked, and from its reply to chances of the labels.

A model answers with a code, a single letter or digit: one token in nearly every vocabulary, so
that its log-probabilities are those of the labels.  The labels stand in an order that is drawn for
each item and sample, because models prefer what stands first.
"""

import base64
import json
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from string import ascii_uppercase
from typing import Any

from softlabel.errors import SoftlabelError
from softlabel.study import Item, Study, list_own_instructions

TEMPLATE = """\
{instructions}

{question}

{item}

{labels}

Answer with the {code} of one label, and nothing else."""
PLACES = ("{question}", "{item}", "{labels}")  # of every template
QUESTION = "Which label fits best?"
FRAMES = {
    "self": "",
    "third_person": "Choose as a person would who is drawn at random from those who are asked.",
}
MARKS = " \t\r\n\"'`*_.,:;()[]{}"  # around a code
THOUGHT = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
MOST = 0.5  # of the chance of a first token that must be on codes for it to be an answer
TOLERANCE = 1e-3  # of the sum of chances that a model's maker computed
Messages = list[dict[str, Any]]


@dataclass(frozen=True)
class Asked:
    """One request: the messages, and the label behind each code."""

    item: str
    sample: int  # from 1
    seed: int
    codes: Mapping[str, str]  # code: label, in the order of the prompt
    messages: Messages
    single: bool  # whether each code is one token

    @cached_property
    def digest(self) -> str:
        """The hash of what is sent."""
        return sha256(json.dumps(self.messages).encode()).hexdigest()

    @property
    def bound(self) -> bool:
        """Whether the server is to hold the reply to the codes.  Not at first: a model that must
        write JSON around its answer has less certain beliefs, and its first token tells them."""
        return self.sample > 1 or not self.single

    @property
    def text(self) -> str:
        """The prompt without its pictures."""
        content = self.messages[0]["content"]
        return content if isinstance(content, str) else str(content[0]["text"])


@dataclass(frozen=True)
class Prompt:
    """How a study asks a model; ``template`` has places for question, item and labels."""

    study: Study
    template: str = TEMPLATE

    def __post_init__(self) -> None:
        for place in PLACES:
            if place not in self.template:
                raise SoftlabelError(f"the template of the prompt must contain {place}")

    def describe(self) -> dict[str, Any]:
        """Return all that the prompts of a study have in common."""
        study = self.study
        about = {label: study.about[label].describe for label in study.labels if self._tells(label)}
        return {
            "template": self.template,
            "instructions": "\n\n".join(list_own_instructions(study)),
            "question": study.question or QUESTION,
            "frame": study.frame,
            "labels": list(study.labels),
            "about": about,
            "ordered": study.ordered,
            "seed": study.seed,
        }

    def _tells(self, label: str) -> bool:
        return label in self.study.about and bool(self.study.about[label].describe)

    @cached_property
    def digest(self) -> str:
        """The hash of what the prompts of a study have in common."""
        return sha256(json.dumps(self.describe(), sort_keys=True).encode()).hexdigest()

    def ask(self, item: Item, sample: int) -> Asked:
        """Return what is asked about an item."""
        self.refuse(item)
        name = f"{self.study.seed}/{item.id}/{sample}"
        seed = int.from_bytes(sha256(name.encode()).digest()[:4], "big") >> 1
        codes, single = make_codes(self._order(seed))
        content: Any = self.write(item, codes)
        if item.image is not None:
            content = [{"type": "text", "text": content}]
            for one in (item.image, item.image_2):
                if one is not None:
                    data = base64.b64encode(one.path.read_bytes()).decode()
                    url = f"data:{one.mime};base64,{data}"
                    content.append({"type": "image_url", "image_url": {"url": url}})
        messages = [{"role": "user", "content": content}]
        return Asked(item.id, sample, seed, codes, messages, single)

    def refuse(self, item: Item) -> None:
        """Raise if an item has what is not sent to models."""
        for file, word in ((item.audio, "a recording"), (item.video, "a video")):
            if file is not None:
                reason = f"item {item.id!r} has {word}, and models are sent texts and pictures only"
                raise SoftlabelError(f"{self.study.folder}: {reason}")

    def _order(self, seed: int) -> list[str]:
        """Return the labels in the order of one prompt: a scale is reversed or not."""
        labels = list(self.study.labels)
        if self.study.ordered:
            return labels[::-1] if seed % 2 else labels
        random.Random(seed).shuffle(labels)
        return labels

    def write(self, item: Item, codes: Mapping[str, str]) -> str:
        """Return the prompt, without pictures."""
        said = self.describe()
        lines = []
        for code, label in codes.items():
            name = label if code == label else f"{code}. {label}"
            about = said["about"].get(label)
            lines.append(f"{name}: {about}" if about else name)
        texts = [item.text or "", *(f"{head}:\n{text}" for head, text in item.texts)]
        question = item.question or said["question"]
        values: dict[str, str] = {
            "{instructions}": said["instructions"],
            "{question}": f"{question}\n\n{FRAMES[self.study.frame]}".strip(),
            "{item}": "\n\n".join(text for text in (*texts, item.note or "") if text),
            "{labels}": "\n".join(lines),
            "{code}": "letter" if next(iter(codes)).isalpha() else "number",
        }
        parts = re.split(r"(\{[a-z]+\})", self.template)  # what is filled in is not filled again
        text = "".join(values.get(part, part) for part in parts)
        return re.sub(r"\n{3,}", "\n\n", text).strip()


def make_codes(labels: Sequence[str]) -> tuple[dict[str, str], bool]:
    """Return the label behind each code, and whether each code is one token: labels that are
    single characters stand for themselves, up to 26 others have letters, more have numbers.

    >>> make_codes(["cat", "dog"]), make_codes(["5", "1"])
    (({'A': 'cat', 'B': 'dog'}, True), ({'5': '5', '1': '1'}, True))
    """
    alone = all(len(label) == 1 and label.isalnum() for label in labels)
    if alone and len({label.casefold() for label in labels}) == len(labels):
        return {label: label for label in labels}, True
    taken = {label.upper() for label in labels}
    if len(labels) <= len(ascii_uppercase) and taken.isdisjoint(ascii_uppercase):
        return dict(zip(ascii_uppercase, labels, strict=False)), True
    return {str(number): label for number, label in enumerate(labels, 1)}, len(labels) < 10


# ── replies ──────────────────────────────────────────────────────────────────────────────────


def read_reply(text: str, codes: Mapping[str, str]) -> str | None:
    """Return the label that a reply names, by its code or in full; None if it does not say just
    that.

    >>> codes = {"A": "cat", "B": "dog"}
    >>> [read_reply(text, codes) for text in ("B", "B. dog", '{"answer": "A"}', "C", "A or B")]
    ['dog', 'dog', 'cat', None, None]
    """
    text = THOUGHT.sub("", text).strip()
    if text.startswith("{"):
        try:
            parsed = json.loads(text)
        except ValueError:
            return None
        text = str(parsed.get("answer", ""))
    known = {code.casefold(): label for code, label in codes.items()}
    full = {label.casefold(): label for label in codes.values()}
    plain = re.sub(r"^(the )?(answer|label)( is|:)\s+", "", text.strip(MARKS), flags=re.IGNORECASE)
    plain = plain.strip(MARKS).casefold()
    if plain in known:
        return known[plain]
    if plain in full:
        return full[plain]
    both = re.fullmatch(r"(\w+)\s*[.):,–-]\s*(.+)", plain, re.DOTALL)
    if both and known.get(both[1], "?") == full.get(both[2].strip(MARKS), "!"):
        return known[both[1]]
    return None


def read_tokens(tokens: Any, label: str | None, asked: Asked) -> dict[str, float] | None:
    """Return the chance of each label by the log-probabilities of the token that named ``label``.
    If the reply named none, the first token tells as long as most of its chance is on codes.  None
    if no token does."""
    if not asked.single or not isinstance(tokens, list) or not tokens:
        return None
    known = {code.casefold(): name for code, name in asked.codes.items()}
    if label is None:
        found, listed = _add_chances(tokens[0], known)
        return _share_rest(found, listed, asked) if sum(found.values()) >= MOST else None
    for token in reversed(tokens):
        if known.get(_plain(token)) == label:
            return _share_rest(*_add_chances(token, known), asked)
    return None


def _add_chances(
    token: Mapping[str, Any], known: Mapping[str, str]
) -> tuple[dict[str, float], list[float]]:
    """Return the chances of the labels among the likeliest tokens in one place, and of all."""
    listed = token.get("top_logprobs") or []
    if not any(other.get("token") == token.get("token") for other in listed):
        listed = [*listed, token]
    chances = [math.exp(min(float(other["logprob"]), 0.0)) for other in listed]
    found: dict[str, float] = {}
    for other, chance in zip(listed, chances, strict=True):
        if name := known.get(_plain(other)):
            found[name] = found.get(name, 0.0) + chance
    return found, chances


def _share_rest(
    found: dict[str, float], listed: Sequence[float], asked: Asked
) -> dict[str, float] | None:
    """Return the chance of each label; those that are not listed share what the listed tokens
    leave, none of them more than the least likely token that is listed."""
    absent = [name for name in asked.codes.values() if name not in found]
    if absent:
        share = min(max(1 - sum(listed), 0.0) / len(absent), min(listed))
        found = found | dict.fromkeys(absent, share)
    return _normalise(found)


def _plain(token: Any) -> str:
    return str(token.get("token", "")).strip(MARKS + "▁Ġ").casefold()


def read_chances(stated: Mapping[str, Any], asked: Asked, *, logs: bool) -> dict[str, float] | None:
    """Return the chance of each label that a program states, as chances or log-probabilities; None
    if they are none.  Labels without a log-probability share what is left."""
    labels = list(asked.codes.values())
    try:
        given = {str(label): float(number) for label, number in stated.items()}
        chances = {name: math.exp(one) for name, one in given.items()} if logs else given
    except (TypeError, ValueError, OverflowError):
        return None
    total = sum(chances.values())
    wrong = not set(chances) <= set(labels) or not all(0 <= one <= 1 for one in chances.values())
    absent = [label for label in labels if label not in chances]
    if wrong or total > 1 + TOLERANCE or (total < 1 - TOLERANCE and not (logs and chances)):
        return None
    if logs and absent:
        chances |= dict.fromkeys(absent, max(1 - total, 0.0) / len(absent))
    return _normalise(dict.fromkeys(labels, 0.0) | chances)


def _normalise(chances: Mapping[str, float]) -> dict[str, float] | None:
    total = sum(chances.values())
    return {name: one / total for name, one in chances.items()} if total > 0 else None
