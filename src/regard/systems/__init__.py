"""Systems: one discovered folder for each task, with everything that belongs to it."""
