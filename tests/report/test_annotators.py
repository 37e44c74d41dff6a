"""The page of report cards, and its confusion matrices."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from softlabel import Annotations, Index
from softlabel.annotators import make_cards
from softlabel.report import Frame, confusion_chart
from softlabel.report.annotators import DRAWN, LISTED, annotators_page
from softlabel.testing import example_soft, example_votes

SVG = "{http://www.w3.org/2000/svg}"
NASTY = "<b> & \"q\" 'a'"


def parsed(text):
    return ET.fromstring(text.partition("\n")[2])


def squares(root):
    """Hover texts of the squares, and how dark each is."""
    return {
        one.find(f"{SVG}title").text: float(one.get("fill-opacity"))
        for one in root.iter(f"{SVG}rect")
        if one.find(f"{SVG}title") is not None
    }


def test_a_square_is_as_dark_as_its_share_of_the_row():
    counts = np.array([[3.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.0, 1.5]])
    frame = Frame(NASTY, NASTY, NASTY, NASTY, 300)
    found = squares(ET.fromstring(confusion_chart(counts, ["cat", NASTY, "dog"], frame)))
    assert found["cat, said cat: 3 of 4"] == 0.75
    assert found["dog, said dog: 1.5 of 2"] == 0.75
    assert found[f"cat, said {NASTY}: 1 of 4"] == 0.25
    assert len(found) == 6, "a class that never came up has no squares"


def test_a_matrix_of_nothing_says_so():
    assert "no data" in confusion_chart(np.zeros((2, 2)), ["a", "b"], Frame("t", width=200))


def test_long_names_are_cut_on_the_axis_and_whole_in_the_hover():
    name = "a very long name of a class"
    drawn = confusion_chart(np.eye(2), [name, "b"], Frame("t", width=300))
    assert f"{name}, said {name}: 1 of 1" in drawn
    assert f">{name}<" not in drawn


@pytest.mark.parametrize("said", [example_soft(), example_votes()[0]])
def test_the_page_is_well_formed_and_has_a_card_for_everybody(said):
    found = make_cards(said)
    document = annotators_page(found, "answers.csv")
    root = parsed(document)
    links = {link.get("href").lstrip("#") for link in root.iter("a")}
    articles = {article.get("id"): article for article in root.iter("article")}
    assert links == set(articles)
    assert [article.find("h3").text for article in articles.values()] == [
        card.annotator for card in found.people
    ]
    text = "".join(root.itertext())
    assert found.reference in text
    assert ("no chances" in text) == said.hard
    assert ("Calibration of" in document) == (not said.hard)
    for word in ("<script", "<link", "@import", "url("):
        assert word not in document


def test_names_are_escaped():
    votes, _ = example_votes(items=6)
    index = Index(votes.index.items, [NASTY, *"bcdefg"], [NASTY, "y", "z"])
    document = annotators_page(make_cards(replace(votes, index=index)), NASTY)
    assert NASTY in [heading.text for heading in parsed(document).iter("h3")]


def test_flags_and_remarks_are_shown():
    votes, _ = example_votes()
    found = make_cards(votes, seconds=np.where(votes.annotator == 2, 0.5, 4.0))
    root = parsed(annotators_page(found, "v"))
    flags = [span.text for span in root.iter("span") if "flag" in (span.get("class") or "")]
    assert "fast: 0.5 s an answer, others 4.0 s" in flags


def test_a_crowd_is_listed_and_its_first_are_drawn():
    people = LISTED + 5
    index = Index(["i"], [f"p{n:05}" for n in range(people)], ["x", "y"])
    who = np.arange(people)
    votes = Annotations(index, np.zeros(people, int), who, label=who % 2)
    document = annotators_page(make_cards(votes), "v")
    root = parsed(document)
    assert len(list(root.iter("article"))) == DRAWN
    assert "5 more are in the .csv" in document


def test_many_classes_are_told_by_their_commonest_confusions():
    index = Index(["i", "j"], ["p", "q"], [f"c{n}" for n in range(30)])
    item, who = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    votes = Annotations(index, item, who, label=np.array([3, 3, 4, 5]))
    root = parsed(annotators_page(make_cards(votes, gold=np.array([3, 4])), "v"))
    cells = ["".join(cell.itertext()) for cell in root.iter("th")]
    assert "c4 → c5" in cells


def test_skips_are_on_the_page_with_their_reasons():
    votes, truth = example_votes()
    who = str(votes.index.annotators[0])
    skips = {who: {"not_in_list": 1, "cannot_judge": 2}, "silent": {"media_broken": 4}}
    text = annotators_page(make_cards(votes, gold=truth, skips=skips), "votes.csv")
    parsed(text)
    assert "3 items skipped (2 cannot judge, 1 not in list)" in text
    assert "0 answers to 0 items; 4 items skipped (4 media broken)" in text
