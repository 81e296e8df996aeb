"""What a model is trained for."""
