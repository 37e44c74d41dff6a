"""Published and promised numbers, worked out again from the data and by training.

A paper is a module of this room: see ``softlabel.reproduce.papers``.  Nothing is imported here, so
that the command line can name the papers at once.
"""

PAPERS: dict[str, str] = {
    "collins2022": "Collins, Bhatt & Weller 2022: soft labels elicited from each annotator",
    "uma2020": "Uma et al. 2020: soft loss functions",
    "singh2025": "Singh et al. 2025: soft labels and the uncertainty of people",
    "gheibi2026": "Gheibi & Ghazizadeh 2026: one target, many ways to deliver it",
}

__all__ = ["PAPERS"]
