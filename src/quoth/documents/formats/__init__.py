"""One folder for each file format, with a function `extract(data) -> Extract` that depends on the bytes alone.

Extractors run in worker processes with limits (see `quoth.documents.worker`), since a file may be hostile.
"""
