"""What the researcher sees of a running study: its numbers, the dashboard, and downloads."""
