"""Tables of other libraries, in and out: pandas, polars, Arrow, Hugging Face, arrays, records."""

from softlabel.frames.answers import Form, Layout, Missing, Spelling, read_data, read_gold
from softlabel.frames.out import to_dataset, to_pandas, to_polars

__all__ = [
    "Form", "Layout", "Missing", "Spelling", "read_data", "read_gold", "to_dataset", "to_pandas",
    "to_polars",
]  # fmt: skip
