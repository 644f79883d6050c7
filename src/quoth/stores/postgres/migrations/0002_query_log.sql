-- What was retrieved, and how good it looked: written only where the setting log.queries asks for it.

CREATE TABLE query_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    "time" timestamptz NOT NULL,
    question text NOT NULL,
    kind text NOT NULL,
    status text NOT NULL,
    best double precision NOT NULL,
    top1 double precision NOT NULL,
    relevant integer NOT NULL CHECK (relevant >= 0),
    full_text_only integer NOT NULL CHECK (full_text_only >= 0),
    vector_only integer NOT NULL CHECK (vector_only >= 0),
    both_count integer NOT NULL CHECK (both_count >= 0),
    both_relevance double precision NOT NULL,        -- sums, so that means can be made of many
    vector_count integer NOT NULL CHECK (vector_count >= 0),
    vector_relevance double precision NOT NULL,
    full_text_count integer NOT NULL CHECK (full_text_count >= 0),
    full_text_relevance double precision NOT NULL,
    lexical_weight double precision NOT NULL,
    dense_weight double precision NOT NULL,
    filters json NOT NULL,
    degraded json NOT NULL,
    index_digest text NOT NULL,
    settings_digest text NOT NULL,
    milliseconds double precision NOT NULL CHECK (milliseconds >= 0)
);
CREATE INDEX query_log_by_time ON query_log ("time");
