"""Work on several machines with Ray: ingest into shards, answer many questions, serve. Needs the extra `ray`."""
