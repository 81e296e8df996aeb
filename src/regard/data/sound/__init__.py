"""Audio: decoding of recordings, log-mel features, augmentation, and melodies."""
