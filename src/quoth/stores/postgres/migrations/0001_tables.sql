-- The tables of an index. All of them live in one schema, which the search path names first.
--
-- What depends on the model (the column sentences.vector and the HNSW index) is made by the first write, which knows it.
-- Text is compared byte by byte (COLLATE "C"), so that the order is the same on every server.

CREATE TABLE index_info (
    single boolean PRIMARY KEY DEFAULT true CHECK (single),
    generation bigint NOT NULL CHECK (generation >= 0),  -- 0: nothing has been published yet
    digest text NOT NULL,
    model_name text,
    model_revision text,
    model_precision text,
    dimension integer CHECK (dimension > 0),
    profile_name text,
    profile_source text,
    documents bigint NOT NULL CHECK (documents >= 0),
    sentences bigint NOT NULL CHECK (sentences >= 0),
    evidence bigint NOT NULL CHECK (evidence >= 0),  -- sentences that can be evidence
    tokens bigint NOT NULL CHECK (tokens >= 0),      -- theirs, for the average length
    vectors text CHECK (vectors IN ('vector', 'halfvec')),
    analysis integer,                                -- which analysis of words made the full text
    CHECK (generation = 0 OR num_nulls(model_name, model_revision, model_precision, dimension, profile_name,
                                       profile_source, vectors, analysis) = 0)
);
INSERT INTO index_info (generation, digest, documents, sentences, evidence, tokens) VALUES (0, '', 0, 0, 0, 0);

CREATE TABLE documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,           -- the document's id everywhere else
    fingerprint text NOT NULL,
    sha256 text NOT NULL,
    source_sha256 text NOT NULL,
    encoding text NOT NULL,
    format text NOT NULL,
    extractor text NOT NULL,
    root text NOT NULL,
    characters integer NOT NULL CHECK (characters >= 0),
    sentences integer NOT NULL CHECK (sentences >= 0),
    evidence integer NOT NULL CHECK (evidence BETWEEN 0 AND sentences),
    tokens bigint NOT NULL CHECK (tokens >= 0),
    pages integer NOT NULL CHECK (pages >= 0),
    title text,
    document_type text COLLATE "C",
    is_binding boolean,
    effective_date text COLLATE "C",                 -- ISO 8601, so that text order is that of time
    superseded_by jsonb NOT NULL,                    -- a list of [document name, section or null]
    language text,
    tags json NOT NULL,                              -- json, not jsonb: the order of the facets counts
    text text NOT NULL
);
CREATE INDEX documents_by_type ON documents USING hash (document_type);  -- of any length

CREATE TABLE sentences (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document bigint NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal integer NOT NULL CHECK (ordinal >= 0),
    start integer NOT NULL CHECK (start >= 0),
    stop integer NOT NULL CHECK (stop > start),
    kind text NOT NULL CHECK (kind IN ('heading', 'paragraph', 'list_item', 'table_header', 'table_row', 'code', 'quote',
        'footnote', 'caption', 'front_matter', 'markup', 'html', 'table_of_contents', 'page_furniture')),
    section json NOT NULL,
    lead_start integer CHECK (lead_start >= 0),
    lead_stop integer CHECK (lead_stop > lead_start),
    lead_text text,
    page integer,
    ocr double precision CHECK (ocr BETWEEN 0 AND 1),
    tags json NOT NULL,
    labels text[] COLLATE "C" NOT NULL,              -- the tags again, each as `facet`, U+001F and `value`
    text text NOT NULL,
    key bytea CHECK (length(key) = 16),              -- of the vector; null for what is no evidence
    terms text,
    length integer CHECK (length >= 0),              -- how many terms there are,
    norm integer CHECK (norm BETWEEN 0 AND length),  -- and as the score sees it: rounded down to one of 256 lengths
    search tsvector GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, terms)) STORED,
    tokens bytea,
    UNIQUE (document, ordinal),
    CHECK (num_nulls(lead_start, lead_stop, lead_text) IN (0, 3)),
    CHECK (num_nulls(key, terms, length, norm, tokens) IN (0, 5))
);
CREATE INDEX sentences_by_place ON sentences (document, start);
CREATE INDEX sentences_by_key ON sentences (key) WHERE key IS NOT NULL;
CREATE INDEX sentences_by_label ON sentences USING gin (labels);
-- Full text looks at many rows and at few columns. The large ones, which only the found rows need, go out of line.
ALTER TABLE sentences SET (toast_tuple_target = 512);
ALTER TABLE sentences ALTER COLUMN tokens SET STORAGE EXTERNAL;
ALTER TABLE sentences ALTER COLUMN search SET STORAGE MAIN;

CREATE TABLE passages (
    document bigint NOT NULL REFERENCES documents ON DELETE CASCADE,
    ordinal integer NOT NULL CHECK (ordinal >= 0),
    first integer NOT NULL CHECK (first >= 0),
    last integer NOT NULL CHECK (last >= first),
    start integer NOT NULL CHECK (start >= 0),
    stop integer NOT NULL CHECK (stop > start),
    section json NOT NULL,
    page integer,
    tokens integer NOT NULL CHECK (tokens >= 0),
    PRIMARY KEY (document, ordinal)
);

CREATE TABLE pages (
    document bigint NOT NULL REFERENCES documents ON DELETE CASCADE,
    number integer NOT NULL,
    width double precision NOT NULL,
    height double precision NOT NULL,
    spans json NOT NULL,
    boxes bytea NOT NULL,
    PRIMARY KEY (document, number)
);

CREATE TABLE terms (
    lexeme text COLLATE "C" PRIMARY KEY,
    sentences bigint NOT NULL CHECK (sentences > 0)
);

-- Vectors that were made and are not published yet, so that an interrupted write does not embed again.
CREATE TABLE staged_vectors (
    key bytea PRIMARY KEY CHECK (length(key) = 16),
    vector vector NOT NULL,
    tokens bytea NOT NULL,
    made timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE staged_vectors ALTER COLUMN tokens SET STORAGE EXTERNAL;

CREATE TABLE ingestion_batches (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    generation bigint NOT NULL UNIQUE,
    digest text NOT NULL,
    put integer NOT NULL CHECK (put >= 0),
    removed integer NOT NULL CHECK (removed >= 0),
    sentences bigint NOT NULL CHECK (sentences >= 0),
    published timestamptz NOT NULL DEFAULT now()
);
