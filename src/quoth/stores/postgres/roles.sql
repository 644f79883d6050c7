-- The roles of an index, each with no more rights than its work needs:
--
--   owner   makes and migrates the tables, does the first ingest, maintains
--   writer  ingests and removes documents; for a service that takes uploads too
--   reader  answers questions
--   asker   answers questions of people who may see some documents only (see docs/postgres.md); made with
--           `-v asker=quoth_asker`
--
-- Run it for each index, before the owner migrates and once more afterwards, with psql, as an administrator (a
-- superuser, or the owner of the database with CREATEROLE, as managed services have):
--
--   psql -v ON_ERROR_STOP=1 -v schema=quoth -v owner=quoth_owner -v writer=quoth_writer -v reader=quoth_reader \
--        -f roles.sql DATABASE
--
-- It may be run again: what is there already stays. In a database that other programs share, add `-v shared=1`: the
-- rights that everybody has in the database then stay as they are. It sets no passwords; do that afterwards, with
-- \password in psql, which sends none in the clear.

-- The extension is the administrator's business: it is not one that just anybody may add.
CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

SELECT format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION', wanted.name)
FROM unnest(ARRAY[:'owner', :'writer', :'reader']) AS wanted (name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted.name) \gexec

-- Whoever makes a schema for another role must be a member of it, unless a superuser.
SELECT format('GRANT %I TO CURRENT_USER', :'owner')
WHERE NOT (SELECT rolsuper FROM pg_roles WHERE rolname = CURRENT_USER) \gexec

SELECT current_database() AS database \gset
\if :{?shared}
\else
REVOKE ALL ON DATABASE :"database" FROM PUBLIC;
\endif
GRANT CONNECT ON DATABASE :"database" TO :"owner", :"writer", :"reader";
-- A write sets its documents aside in temporary tables.
GRANT TEMPORARY ON DATABASE :"database" TO :"owner", :"writer";

-- The owner has the schema, and no right to make others.
CREATE SCHEMA IF NOT EXISTS :"schema" AUTHORIZATION :"owner";
REVOKE ALL ON SCHEMA :"schema" FROM PUBLIC;
GRANT USAGE ON SCHEMA :"schema" TO :"writer", :"reader";

-- Some services keep extensions in a schema of their own, which not everybody may use.
SELECT format('GRANT USAGE ON SCHEMA %I TO %I', n.nspname, wanted.name)
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
CROSS JOIN unnest(ARRAY[:'owner', :'writer', :'reader']) AS wanted (name)
WHERE e.extname = 'vector' AND NOT has_schema_privilege(wanted.name, n.oid, 'USAGE') \gexec

-- What the owner makes later, by migrations, has the same rights as what is there now.
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA :"schema"
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO :"writer";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA :"schema" GRANT SELECT ON TABLES TO :"reader";
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA :"schema" TO :"writer";
GRANT SELECT ON ALL TABLES IN SCHEMA :"schema" TO :"reader";
-- The version of the tables is the owner's to change. The table is there once the owner has migrated: run this again.
SELECT format('REVOKE INSERT, UPDATE, DELETE ON %I.migrations FROM %I', :'schema', :'writer')
WHERE to_regclass(format('%I.migrations', :'schema')) IS NOT NULL \gexec

-- The log of questions may hold what people asked: whoever answers need not see it.
SELECT format('REVOKE SELECT ON %I.query_log FROM %I', :'schema', :'reader')
WHERE to_regclass(format('%I.query_log', :'schema')) IS NOT NULL \gexec

-- Uploads, and the jobs that wait, are for the services that take them. Other roles that read are not given them either.
SELECT format('REVOKE SELECT ON %I.%I FROM %I', :'schema', wanted.name, :'reader')
FROM unnest(ARRAY['jobs', 'uploads', 'upload_files', 'upload_chunks']) AS wanted (name)
WHERE to_regclass(format('%I.%I', :'schema', wanted.name)) IS NOT NULL \gexec

-- A reader does not write anywhere, whatever else it may be given.
ALTER ROLE :"reader" IN DATABASE :"database" SET default_transaction_read_only = on;

-- The asker sees what its transaction says that it may see, and nothing where it says nothing: row security does not
-- depend on the statements of a program. Counts of all documents, and the words in them, are not for it.
\if :{?asker}
SELECT format('CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', :'asker')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'asker') \gexec
SELECT format('GRANT CONNECT ON DATABASE %I TO %I', :'database', :'asker') \gexec
GRANT USAGE ON SCHEMA :"schema" TO :"asker";
SELECT format('GRANT USAGE ON SCHEMA %I TO %I', n.nspname, :'asker')
FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
WHERE e.extname = 'vector' AND NOT has_schema_privilege(:'asker', n.oid, 'USAGE') \gexec
ALTER ROLE :"asker" IN DATABASE :"database" SET default_transaction_read_only = on;

-- The tables are there once the owner has migrated: run this again. First the policies, then the right to read.
SELECT format('DROP POLICY IF EXISTS %I ON %I.%I', 'seen by ' || :'asker', :'schema', wanted.name)
FROM unnest(ARRAY['documents', 'sentences', 'passages', 'pages']) AS wanted (name)
WHERE to_regproc(format('%I.visible', :'schema')) IS NOT NULL \gexec
SELECT format('CREATE POLICY %I ON %I.%I AS RESTRICTIVE TO %I USING (%s)', 'seen by ' || :'asker', :'schema',
              wanted.name, :'asker', wanted.test)
FROM (VALUES ('documents', format('%I.visible(access)', :'schema'))) AS wanted (name, test)
WHERE to_regproc(format('%I.visible', :'schema')) IS NOT NULL \gexec
SELECT format('CREATE POLICY %I ON %I.%I AS RESTRICTIVE TO %I USING (EXISTS ('
              'SELECT FROM %2$I.documents d WHERE d.id = %3$I.document))', 'seen by ' || :'asker', :'schema',
              wanted.name, :'asker')
FROM unnest(ARRAY['sentences', 'passages', 'pages']) AS wanted (name)
WHERE to_regproc(format('%I.visible', :'schema')) IS NOT NULL \gexec
SELECT format('GRANT SELECT ON %1$I.documents, %1$I.sentences, %1$I.passages, %1$I.pages, %1$I.migrations TO %2$I',
              :'schema', :'asker')
WHERE to_regproc(format('%I.visible', :'schema')) IS NOT NULL \gexec
SELECT format('GRANT SELECT (generation, label_revision, model_name, model_revision, model_precision, dimension, '
              'profile_name, profile_source, vectors, analysis) ON %I.index_info TO %I', :'schema', :'asker')
WHERE to_regproc(format('%I.visible', :'schema')) IS NOT NULL \gexec
\endif
