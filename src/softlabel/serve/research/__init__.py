"""OLD NAME of ``softlabel.serve.researcher``, for the module that is still here."""
