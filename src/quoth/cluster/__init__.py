"""Past one machine, on Ray: ingest into shards, answering many questions, and serving. Needs the extra `ray`."""
