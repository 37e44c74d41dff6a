"""OLD NAME: use ``softlabel.records.format_time``."""

from softlabel.records import format_time

iso = format_time  # OLD NAME
