"""Command line `regard`, one file per subcommand."""

from regard.cli.app import app
from regard.cli.main import main

__all__ = ["app", "main"]
