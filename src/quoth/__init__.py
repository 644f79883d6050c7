"""Quoth: verbatim answers, cited by exact offsets, or an honest abstention."""
