"""Pools replayed: how well each predicts votes that were held out."""
