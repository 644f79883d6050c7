-- How the file of each document was read, and which files ingests could not read.

ALTER TABLE documents ADD COLUMN reading json;       -- null for a document from before this was recorded

-- They belong to no generation. There is no unique key: a path and its root may be longer than an index takes.
CREATE TABLE refused_files (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    root text COLLATE "C" NOT NULL,
    path text COLLATE "C" NOT NULL,
    why text NOT NULL,
    hint text NOT NULL
);

-- Bibliographies, back matter and mastheads became kinds of their own after the first version.
ALTER TABLE sentences DROP CONSTRAINT sentences_kind_check;
ALTER TABLE sentences ADD CONSTRAINT sentences_kind_check CHECK (kind IN ('heading', 'paragraph', 'list_item',
    'table_header', 'table_row', 'code', 'quote', 'footnote', 'caption', 'references', 'back_matter', 'masthead',
    'front_matter', 'markup', 'html', 'table_of_contents', 'page_furniture'));
