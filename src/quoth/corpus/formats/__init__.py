"""One module for each file format: `extract(data) -> Extract`, a pure function of the bytes.

They run in a worker process with limits (see `corpus.worker`), since a hostile file is data like any other.
"""
