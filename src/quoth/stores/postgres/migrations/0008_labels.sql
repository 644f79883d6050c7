-- Who may see which documents. `access` are the labels in force, `stated_access` those that the files state.
--
-- A transaction says for whom it reads: `quoth.everything` is 'on', or `quoth.labels` is an array of labels as text and
-- `quoth.unlabelled` says whether documents without labels are seen. Where nothing is said, nothing is seen. That holds
-- for the roles that `roles.sql` makes a policy for; all others see everything, as before.

ALTER TABLE documents
    ADD COLUMN access text[] COLLATE "C" NOT NULL DEFAULT '{}',
    ADD COLUMN stated_access text[] COLLATE "C" NOT NULL DEFAULT '{}';
ALTER TABLE index_info ADD COLUMN label_revision bigint NOT NULL DEFAULT 0;

CREATE FUNCTION visible(access text[]) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
    SELECT coalesce(current_setting('quoth.everything', true) = 'on' OR CASE
        WHEN coalesce(current_setting('quoth.labels', true), '') = '' THEN false
        WHEN access OPERATOR(pg_catalog.=) '{}' THEN current_setting('quoth.unlabelled', true) = 'on'
        ELSE access OPERATOR(pg_catalog.&&) current_setting('quoth.labels', true)::text[] END, false)
$$;

ALTER TABLE documents ENABLE ROW LEVEL SECURITY;
ALTER TABLE sentences ENABLE ROW LEVEL SECURITY;
ALTER TABLE passages ENABLE ROW LEVEL SECURITY;
ALTER TABLE pages ENABLE ROW LEVEL SECURITY;
CREATE POLICY everybody ON documents USING (true) WITH CHECK (true);
CREATE POLICY everybody ON sentences USING (true) WITH CHECK (true);
CREATE POLICY everybody ON passages USING (true) WITH CHECK (true);
CREATE POLICY everybody ON pages USING (true) WITH CHECK (true);

-- The server uses no index of words below a policy, because the operators could tell of rows that are not seen. These
-- functions do, as the owner of the tables, and give the ids of visible sentences alone. What takes any array is named in
-- full, since one for an array of texts in a schema of others would be a better match, and would run as the owner.

CREATE FUNCTION holding(query text) RETURNS SETOF bigint LANGUAGE sql STABLE STRICT SECURITY DEFINER AS $$
    SELECT s.id FROM sentences s
    WHERE s.search @@ query::tsquery AND s.document IN (SELECT d.id FROM documents d WHERE visible(d.access))
$$;
CREATE FUNCTION meeting(conditions text[]) RETURNS SETOF bigint LANGUAGE sql STABLE STRICT SECURITY DEFINER AS $$
    SELECT s.id FROM pg_catalog.unnest(conditions) AS c (condition)
    JOIN sentences s ON impacts(s.search, s.norm) @@ c.condition::tsquery
    WHERE s.document IN (SELECT d.id FROM documents d WHERE visible(d.access))
$$;

-- A function that runs as the owner finds its tables where they are now, and a temporary table of that name last.
DO $$
DECLARE
    place text := current_setting('search_path') || ', pg_temp';
BEGIN
    EXECUTE format('ALTER FUNCTION holding(text) SET search_path = %s', place);
    EXECUTE format('ALTER FUNCTION meeting(text[]) SET search_path = %s', place);
END
$$;
