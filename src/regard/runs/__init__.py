"""A run on disk: its folder, checkpoints and log."""
