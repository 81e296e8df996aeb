"""Pictures: files to arrays of bytes, in parallel, and their augmentation."""
