"""Images: parallel decoding to uint8 arrays, and augmentation."""
