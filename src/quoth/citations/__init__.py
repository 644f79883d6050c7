"""Keep a quote checkable after it left the program."""
