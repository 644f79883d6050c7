"""Measurement: what the engine's answers are worth on questions whose answers are known."""
