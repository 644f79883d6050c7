-- Who wrote a document, when it was published, and its DOI.

ALTER TABLE documents
    ADD COLUMN authors jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN year integer,
    ADD COLUMN doi text;
