"""The command line, with one file for each command. Errors are one line and exit status 1.

May import everything.
"""

from companion.cli.main import main

__all__ = ["main"]
