"""The harness that checks a paper: its cells, its runs, its claims and their verdicts."""
