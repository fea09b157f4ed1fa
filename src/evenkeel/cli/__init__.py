"""The command line: `main` is what the installed `evenkeel` runs."""

from evenkeel.cli.app import app, main

__all__ = ["app", "main"]
