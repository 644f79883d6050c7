"""`make compare`: Quoth beside other tools on the same documents and questions."""
