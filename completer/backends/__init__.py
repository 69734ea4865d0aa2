"""Implementations of the Target protocol: what turns token ids into the model's next-token choices."""
