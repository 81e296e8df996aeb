"""What models are trained for: translation, language modelling, labels, tags."""
