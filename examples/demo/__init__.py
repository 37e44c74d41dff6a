"""The demo of softlabel; ``demo.py`` is the script."""
