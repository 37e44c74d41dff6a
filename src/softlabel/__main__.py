"""``python -m softlabel``."""

import sys

from softlabel.cli import main

sys.exit(main())
