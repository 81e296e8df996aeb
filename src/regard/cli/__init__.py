"""Command line `regard`, one file per subcommand."""

from regard.cli.app import app, main

__all__ = ["app", "main"]
