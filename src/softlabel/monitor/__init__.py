"""The researcher's side of a running study: how far it is, how good it is, and its export."""

from softlabel.agree import Repeats
from softlabel.cost import Spread
from softlabel.monitor import words
from softlabel.monitor.accord import Agreement
from softlabel.monitor.export import KINDS, chunks, export, refuse_json
from softlabel.monitor.money import Bill
from softlabel.monitor.overview import Insight, Overview, overview
from softlabel.monitor.people import Checks, Person
from softlabel.monitor.roster import roster
from softlabel.monitor.seconds import Seconds
from softlabel.monitor.speed import Speed
from softlabel.monitor.standing import Standing
from softlabel.monitor.watch import Watch

__all__ = [
    "KINDS",
    "Agreement",
    "Bill",
    "Checks",
    "Insight",
    "Overview",
    "Person",
    "Repeats",
    "Seconds",
    "Speed",
    "Spread",
    "Standing",
    "Watch",
    "chunks",
    "export",
    "overview",
    "refuse_json",
    "roster",
    "words",
]
