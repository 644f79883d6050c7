"""Retrievers for other frameworks, one module each: `langchain`, `llama_index`, `haystack`.

Nothing is imported here: each module needs a package of its own, and raises `MissingExtra` where that is not installed.
"""
