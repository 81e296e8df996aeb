"""Field kinds: each encodes, stores, collates and pads the values of a field."""
