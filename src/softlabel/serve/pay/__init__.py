"""Money: what people are to be paid, the ledger of payments, and who is who at the platform."""

from softlabel.serve.pay.bill import (
    Bill,
    Line,
    bill_screenouts,
    default_kinds,
    get_pay,
    make_bill,
    parse_kinds,
    read_own,
)
from softlabel.serve.pay.bonus import Score, score_people, score_study
from softlabel.serve.pay.identities import (
    Identities,
    add_ids,
    add_pseudonyms,
    describe_people,
    identify,
)
from softlabel.serve.pay.ledger import Sent, approve, confirm, format_file, plan, select, send, undo

__all__ = [
    "Bill", "Identities", "Line", "Score", "Sent", "add_ids", "add_pseudonyms", "approve",
    "bill_screenouts", "confirm", "default_kinds", "describe_people", "format_file", "get_pay",
    "identify", "make_bill", "parse_kinds", "plan", "read_own", "score_people", "score_study",
    "select", "send", "undo",
]  # fmt: skip
