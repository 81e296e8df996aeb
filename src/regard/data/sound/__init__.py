"""Sound: recordings to samples and log-mel features, their augmentation, and melodies."""
