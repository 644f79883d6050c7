"""Many questions asked of many documents: a table of verbatim quotes, and the comparison of two versions."""
