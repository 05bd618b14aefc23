"""The command line. Errors are one line and exit status 1.

`options` says how commands are declared, and `main` lists them. Each group of commands has a file
of its own. May import everything.
"""

from companion.cli.main import main

__all__ = ["main"]
