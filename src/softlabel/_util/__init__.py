"""Small helpers that belong to no room: whole files, progress, the machine, lazy doors."""
