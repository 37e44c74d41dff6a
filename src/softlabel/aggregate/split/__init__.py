"""How people split over the classes: pools that estimate a distribution for each item."""
