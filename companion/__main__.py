"""`python -m companion` is the command line."""

import sys

from companion.cli.main import main

sys.exit(main())
