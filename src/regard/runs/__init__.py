"""Run on disk: folder, files, metrics log, checkpoints."""
