"""A package, so that fixtures can last as long as its tests: one browser for all of them."""
