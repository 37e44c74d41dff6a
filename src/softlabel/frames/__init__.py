"""Tables of other libraries, in and out: pandas, polars, Arrow, Hugging Face, arrays, records."""

from softlabel.frames.answers import Form, Layout, Missing, Spelling, read_data, read_gold
from softlabel.frames.judges import join_judges, read_judges, read_models
from softlabel.frames.out import to_dataset, to_pandas, to_polars

__all__ = [
    "Form", "Layout", "Missing", "Spelling", "join_judges", "read_data", "read_gold",
    "read_judges", "read_models", "to_dataset", "to_pandas", "to_polars",
]  # fmt: skip
