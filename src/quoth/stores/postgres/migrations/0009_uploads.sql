-- Uploads of a service, for every machine that serves this index: the jobs, who has uploaded how much, and the files.
--
-- Times are text, as jobs in a folder have them. `quoth.http` names the columns in its own statements.

CREATE TABLE jobs (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    kind text NOT NULL CHECK (kind IN ('put', 'delete')),
    doc_id text COLLATE "C" NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')),
    step text NOT NULL DEFAULT '',
    done bigint NOT NULL DEFAULT 0,
    total bigint NOT NULL DEFAULT 0,
    error text,
    notes text NOT NULL DEFAULT '[]',
    created text NOT NULL,
    finished text,
    tries integer NOT NULL DEFAULT 0,
    owner text COLLATE "C",
    bytes bigint NOT NULL DEFAULT 0 CHECK (bytes >= 0)
);
CREATE INDEX jobs_to_do ON jobs (number) WHERE finished IS NULL;

CREATE TABLE uploads (
    doc_id text COLLATE "C" PRIMARY KEY,
    owner text COLLATE "C",
    bytes bigint NOT NULL CHECK (bytes >= 0)
);

-- A file is kept under the id of the job that brought it, and is installed when that job is done.
CREATE TABLE upload_files (
    job text COLLATE "C" PRIMARY KEY,
    doc_id text COLLATE "C" NOT NULL,
    sha256 text NOT NULL,
    fields text NOT NULL DEFAULT '',                 -- what the uploader says of the document, as YAML
    installed boolean NOT NULL DEFAULT false,
    received text NOT NULL
);
CREATE UNIQUE INDEX upload_files_installed ON upload_files (doc_id) WHERE installed;
CREATE INDEX upload_files_by_content ON upload_files (doc_id, sha256);

CREATE TABLE upload_chunks (
    job text COLLATE "C" NOT NULL REFERENCES upload_files ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
    ordinal integer NOT NULL CHECK (ordinal >= 0),
    data bytea NOT NULL CHECK (length(data) BETWEEN 1 AND 1048576),
    PRIMARY KEY (job, ordinal)
);
ALTER TABLE upload_chunks ALTER COLUMN data SET STORAGE EXTERNAL;  -- most files are compressed already

-- By default whoever reads the index may read what the owner adds to it. That is not meant for these: only who writes
-- them sees them. roles.sql does the same for roles that are made later.
DO $$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT c.oid::regclass AS name, a.grantee FROM pg_class c, aclexplode(c.relacl) a
        WHERE c.oid IN ('jobs'::regclass, 'uploads'::regclass, 'upload_files'::regclass, 'upload_chunks'::regclass)
        AND a.privilege_type = 'SELECT' AND NOT EXISTS (
            SELECT FROM aclexplode(c.relacl) w WHERE w.grantee = a.grantee AND w.privilege_type = 'INSERT')
    LOOP
        EXECUTE format('REVOKE SELECT ON %s FROM %s', found.name,
                       CASE WHEN found.grantee = 0 THEN 'PUBLIC' ELSE found.grantee::regrole::text END);
    END LOOP;
END
$$;
