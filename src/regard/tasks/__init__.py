"""Tasks: losses and predictions of models, and the interface of all systems."""
