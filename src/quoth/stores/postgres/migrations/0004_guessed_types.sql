-- A type that was read from the document's own title, until somebody confirms it.

ALTER TABLE documents ADD COLUMN type_guessed boolean NOT NULL DEFAULT false;
