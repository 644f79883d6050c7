"""Quoth over HTTP: one application for programs, operators and the web page."""
