-- The tables of an embedded index, in a SQLite database.
--
-- What belongs to a document and needs no row number of its own has the row `document << 24 | number`, so that it is
-- found and removed with its document without an index.

CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Rows are never reused (AUTOINCREMENT), so a row means one document for as long as the index lives.
CREATE TABLE documents (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    source_sha256 TEXT NOT NULL,
    encoding TEXT NOT NULL,
    format TEXT NOT NULL,
    extractor TEXT NOT NULL,
    root TEXT NOT NULL,
    characters INTEGER NOT NULL,
    sentences INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    document_type TEXT,
    is_binding INTEGER,
    -- How the file was read: JSON, null for a document from before this was recorded.
    reading TEXT,
    -- The labels in force, and those that the files stated at the last ingest: JSON, as `labels_of` writes them.
    access TEXT NOT NULL DEFAULT '[]',
    stated_access TEXT NOT NULL DEFAULT '[]',
    metadata TEXT NOT NULL
);

-- The text of a document, cut every 2,000 characters: a sentence is read from one or two of these, and stored nowhere else.
CREATE TABLE texts (row INTEGER PRIMARY KEY, text TEXT NOT NULL);

-- What many sentences of a document share.
CREATE TABLE places (row INTEGER PRIMARY KEY, kind TEXT NOT NULL, section TEXT NOT NULL, tags TEXT NOT NULL);

CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY,
    -- A hash of the model's identity and the text, so that a vector is found again by what it stands for.
    key BLOB NOT NULL UNIQUE,
    -- The codes of the text's tokens for late interaction; empty for a model that has none.
    tokens BLOB NOT NULL
);

-- The vectors of 21 embeddings, by `id / 21`, each at `id % 21`: they fill a page, and all are read fast.
-- float16: the cosine moves by less than 0.0005, and the index is half as large.
CREATE TABLE vectors (block INTEGER PRIMARY KEY, vectors BLOB NOT NULL);

-- Places in `vectors` that no embedding has.
CREATE TABLE free_ids (id INTEGER PRIMARY KEY);

-- The embeddings that perhaps no sentence uses: made by a write that was not published yet. Publishing looks at these
-- alone, so that it need not look at all.
CREATE TABLE loose (embedding INTEGER PRIMARY KEY);

-- As with documents, a row is never reused. The text is that of the document from start to stop; so is the lead's.
CREATE TABLE sentences (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (row) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    lead_start INTEGER,
    lead_stop INTEGER,
    page INTEGER,
    ocr REAL,
    -- The number of its row in `places`.
    place INTEGER NOT NULL,
    embedding INTEGER REFERENCES embeddings (id),
    UNIQUE (document, ordinal)
);
CREATE INDEX sentences_by_embedding ON sentences (embedding);

CREATE TABLE passages (
    document INTEGER NOT NULL REFERENCES documents (row) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    section TEXT NOT NULL,
    page INTEGER,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (document, ordinal)
) WITHOUT ROWID;

CREATE TABLE pages (
    row INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (row) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    width REAL NOT NULL,
    height REAL NOT NULL,
    spans TEXT NOT NULL,
    boxes BLOB NOT NULL,
    UNIQUE (document, number)
);

CREATE TABLE tags (
    id INTEGER PRIMARY KEY,
    facet TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (facet, value)
);

-- The files that ingests could not read. They belong to no generation: a reader sees the newest.
CREATE TABLE refused_files (root TEXT NOT NULL, path TEXT NOT NULL, why TEXT NOT NULL, hint TEXT NOT NULL);
