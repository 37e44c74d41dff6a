"""Replays of the pools: how well each predicts votes that were held out."""
