"""Amounts of money: whole numbers of the smallest unit of a currency, such as pence.

Settings are decimal fractions.  Sums are computed with exact fractions and rounded once, so that
no penny appears or is lost.
"""

from decimal import Decimal
from fractions import Fraction

USUAL = 2  # digits after the point
OTHERS = {  # by ISO 4217
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
DIGITS = {name: digits for digits, names in OTHERS.items() for name in names.split()}


def digits_of(currency: str) -> int:
    """Return the number of digits after the point.

    >>> digits_of("GBP"), digits_of("JPY"), digits_of("KWD")
    (2, 0, 3)
    """
    return DIGITS.get(currency, USUAL)


def to_units(amount: float | str | Fraction, currency: str) -> Fraction:
    """Return an amount in the smallest unit, exactly; a float counts as it is written.

    >>> to_units(1.15, "GBP"), to_units("0.005", "GBP")
    (Fraction(115, 1), Fraction(1, 2))
    """
    exact = amount if isinstance(amount, Fraction) else Fraction(str(amount))
    return exact * Fraction(10) ** digits_of(currency)


def round_half_up(amount: Fraction) -> int:
    """Round to a whole number, halves upwards.

    >>> round_half_up(Fraction(5, 2)), round_half_up(Fraction(249, 100))
    (3, 2)
    """
    return int((amount + Fraction(1, 2)) // 1)


def format_units(units: int, currency: str, least: int = 0) -> str:
    """Write units as an amount, with the digits of the currency and ``least`` at least.

    >>> format_units(150, "GBP"), format_units(150, "JPY"), format_units(150, "JPY", least=2)
    ('1.50', '150', '150.00')
    """
    digits = digits_of(currency)
    return f"{Decimal(units).scaleb(-digits):.{max(digits, least)}f}"
