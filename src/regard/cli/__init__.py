"""The command `regard`, one file a subcommand."""

from regard.cli.app import app

__all__ = ["app"]
