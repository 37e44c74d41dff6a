"""The page of Collins et al. 2022: the words with which it asked (their figure 7), and the two
shapes in which its answers were released, turned into ``classic`` ones."""

from typing import Any

from softlabel.elicit.mode import Payload
from softlabel.errors import ResponseError

# As the page of figure 7 asked, word for word; ``**`` begins and ends what it has in bold type.
WORDS = {
    "heading": "Imagine 100 crowdsourced workers are asked to **identify what category the image "
    "below belongs to**.",
    "top": "What category do you think they would select as **most probably** being the true "
    "category of the image?",
    "p1": "What **percent probability (between 0 and 100)** do you think they would assign to the "
    "category you selected being the true category of the image?",
    "second": "What **alternate** category, if any, do you think they would select as being the "
    "**second most probable** of being the true category of the image?",
    "p2": "If you selected an alternate category for the image, what **percent probability "
    "(between 0 and 100)** do you think they would assign to the category you selected being the "
    "true category represented in the image?",
    "impossible": "Are there one or more categories you think the crowdsourced annotators would "
    "say are **definitely not** the true category of the image? Please click **ALL** categories "
    "you think the annotators would say have zero probability of being the true category.",
    "no_alternative": "No Alternative",
}
LANGUAGE, FRAME, CHANNEL = "en", "third_person", "image"  # what these words are about

KEYS = {  # of an answer, and of a processed record
    "top": "Most Probable Class",
    "p1": "Most Probable Class Prob",
    "second": "Second Most Probable Class",
    "p2": "Second Most Probable Class Prob",
    "impossible": "Impossible Class(es)",
}
NO_ALTERNATIVE = ("no", "no alternative")  # an unquoted HTML attribute cut the second to the first


def from_form(form: Payload) -> dict[str, Any]:
    """Read a raw form with the keys of the page: ``classSelect``, ``prob``, ``improbClassSelect…``.

    >>> from_form({"classSelect": "mostProbDeer", "prob": "60", "classSelect2": "secondProbNo"})
    {'top': 'Deer', 'p1': '60', 'second': None, 'p2': '', 'impossible': []}
    """
    second = _strip_prefix("classSelect2", form.get("classSelect2"), "secondProb")
    prefix = "improbClassSelect"
    return {
        "top": _strip_prefix("classSelect", form.get("classSelect"), "mostProb"),
        "p1": form.get("prob"),
        "second": None if second.lower() in NO_ALTERNATIVE else second,
        "p2": form.get("prob2", ""),
        "impossible": [key[len(prefix) :] for key in form if key.startswith(prefix)],
    }


def to_record(answer: Payload) -> dict[str, Any]:
    """Return a ``classic`` answer as a record of ``human_soft_labels_data.json``."""
    record = {name: answer[key] for key, name in KEYS.items()}
    return record | {KEYS["second"]: answer["second"] or "No"}


def from_record(record: Payload) -> dict[str, Any]:
    """Read a processed record of ``human_soft_labels_data.json``.

    >>> from_record({"Most Probable Class": "Deer", "Most Probable Class Prob": 60.0})["top"]
    'Deer'
    """
    answer = {key: record.get(name) for key, name in KEYS.items()}
    if answer["second"] is not None and answer["second"].lower() in NO_ALTERNATIVE:
        answer["second"] = None
    return answer | {"impossible": list(answer["impossible"] or ())}


def _strip_prefix(key: str, value: Any, prefix: str) -> str:
    if not isinstance(value, str) or not value.startswith(prefix):
        raise ResponseError(key, value, f"must start with {prefix!r}")
    return value[len(prefix) :]
