"""The command line, one file a command. Errors are one line and exit status 1.

May import everything.
"""

from companion.cli.main import main

__all__ = ["main"]
