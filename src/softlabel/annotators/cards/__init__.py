"""One report card per annotator: what their answers say about them, beside everybody else's.

A card describes.  Nothing on it changes a label, and a flag excludes nobody.
"""

from softlabel.annotators.cards.calibration import Bin
from softlabel.annotators.cards.card import Card
from softlabel.annotators.cards.deck import Cards, cards
from softlabel.annotators.cards.plain import document, row

__all__ = ["Bin", "Card", "Cards", "cards", "document", "row"]
