"""Which class is true: methods that estimate the one right answer of each item."""
