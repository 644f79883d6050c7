-- The lexemes of a sentence, each with what bounds its score there: the class of the sentence's norm (a letter, A for
-- the shortest) and whether it stands there more than once (2) or once (1). An index of these tells which sentences can
-- score enough, without reading them; `postgres_bounds.py` knows the same classes.
--
-- A lexeme is cut, since one with a class could be longer than a tsvector takes. The names are in full, because an index
-- is maintained with a search path of the server's own. The cost tells the planner never to do this row by row.

CREATE FUNCTION impacts(search tsvector, norm integer) RETURNS tsvector
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 10000 AS $$
    SELECT pg_catalog.array_to_tsvector(coalesce(pg_catalog.array_agg(
        pg_catalog.left(u.lexeme, 500)
        OPERATOR(pg_catalog.||) pg_catalog.chr(65 OPERATOR(pg_catalog.+)
            pg_catalog.width_bucket(norm, ARRAY[4, 6, 8, 11, 16, 22, 32, 45, 64, 91, 128]))
        OPERATOR(pg_catalog.||) CASE WHEN pg_catalog.cardinality(u.positions) OPERATOR(pg_catalog.>) 1
                                THEN '2' ELSE '1' END), '{}'))
    FROM pg_catalog.unnest(search) AS u
$$;

-- A first write makes it when the rows are there, which is faster.
DO $$
BEGIN
    IF (SELECT generation > 0 FROM index_info) THEN
        CREATE INDEX sentences_by_impact ON sentences USING gin (impacts(search, norm)) WITH (fastupdate = off);
    END IF;
END
$$;
