"""`python -m tidelog` is the command line `tidelog`."""

import sys

from tidelog.cli import main

sys.exit(main())
