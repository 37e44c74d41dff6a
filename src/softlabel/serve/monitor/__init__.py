"""The researcher's side of a running study: how far it is, how good it is, and its export."""

from softlabel.annotators import Repeats
from softlabel.metrics import Spread
from softlabel.serve.monitor import words
from softlabel.serve.monitor.accord import Agreement
from softlabel.serve.monitor.export import KINDS, chunks, export, refuse_json
from softlabel.serve.monitor.money import Bill
from softlabel.serve.monitor.overview import Insight, Overview, overview
from softlabel.serve.monitor.people import Checks, Person
from softlabel.serve.monitor.roster import roster
from softlabel.serve.monitor.seconds import Seconds
from softlabel.serve.monitor.speed import Speed
from softlabel.serve.monitor.standing import Standing
from softlabel.serve.monitor.watch import Watch

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
