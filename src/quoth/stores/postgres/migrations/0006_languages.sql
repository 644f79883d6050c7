-- The languages of the documents, each with its number of documents, the most common one first.

ALTER TABLE index_info ADD COLUMN languages jsonb NOT NULL DEFAULT '[]';
