-- The catalog of a library: one SQLite file that workers write and pages read. All of it but the labels, the names
-- that people gave, the marks, the links, the names of columns, what people say of series, the spaces, the logins, the
-- audit and the memory of deleted files can be rebuilt from the manifests beside the reports.
CREATE TABLE IF NOT EXISTS report (
    id TEXT PRIMARY KEY,            -- first 16 hex digits of the source's SHA-256
    name TEXT NOT NULL,             -- file name as it was dropped
    kind TEXT NOT NULL,             -- nsys, ncu
    source_sha256 TEXT NOT NULL,    -- hash of the source
    captured_at TEXT,               -- ISO 8601, UTC
    ingested_at TEXT NOT NULL,      -- ISO 8601, UTC
    gpu TEXT,                       -- names of the GPUs that were used
    manifest TEXT NOT NULL          -- everything known, JSON
) STRICT;
CREATE INDEX IF NOT EXISTS report_ingested ON report (ingested_at);
CREATE INDEX IF NOT EXISTS report_source ON report (source_sha256);
CREATE INDEX IF NOT EXISTS report_name ON report (name);
CREATE TABLE IF NOT EXISTS listing ( -- what lists of reports search, filter and sort by; made from the manifest, the
                                     -- name and the labels (report_list.py)
    report_id TEXT PRIMARY KEY,
    sample INTEGER NOT NULL,        -- 1: it comes with the product
    schema_version INTEGER NOT NULL, -- of its tables
    kind TEXT NOT NULL,             -- as people call it: nsys, ncu, or another program's name
    gpu TEXT NOT NULL,              -- empty: unknown, as in the following columns; 0 for numbers
    name TEXT NOT NULL,             -- for people, in lower case
    captured_at TEXT NOT NULL,      -- ISO 8601, UTC
    ingested_at TEXT NOT NULL,      -- ISO 8601, UTC
    duration_ns INTEGER NOT NULL,
    kernels INTEGER NOT NULL,       -- launches
    bytes INTEGER NOT NULL,         -- of the source
    timeline INTEGER NOT NULL,      -- 1: it has times
    launches INTEGER NOT NULL,      -- 1: it has counters of single launches
    operators INTEGER NOT NULL,     -- 1: it has operators and kernels
    words TEXT NOT NULL             -- what a search looks in, in lower case
) STRICT;
CREATE INDEX IF NOT EXISTS listing_newest ON listing (ingested_at DESC, name, report_id);
CREATE INDEX IF NOT EXISTS listing_sample ON listing (ingested_at) WHERE sample = 1;
CREATE INDEX IF NOT EXISTS listing_name ON listing (name, report_id);
CREATE INDEX IF NOT EXISTS listing_kind ON listing (kind);
CREATE INDEX IF NOT EXISTS listing_gpu ON listing (gpu, report_id);
CREATE INDEX IF NOT EXISTS listing_captured ON listing (captured_at, report_id);
CREATE INDEX IF NOT EXISTS listing_duration ON listing (duration_ns, report_id);
CREATE INDEX IF NOT EXISTS listing_kernels ON listing (kernels, report_id);
CREATE INDEX IF NOT EXISTS listing_bytes ON listing (bytes, report_id);
CREATE TABLE IF NOT EXISTS finding ( -- the rules that fired in a report when it was last judged
    report_id TEXT NOT NULL,
    rule TEXT NOT NULL,             -- its name; a row with an empty one says that the report was judged
    version TEXT NOT NULL,          -- of the rules that judged it
    PRIMARY KEY (report_id, rule)
) STRICT;
CREATE INDEX IF NOT EXISTS finding_rule ON finding (rule, report_id);
CREATE TABLE IF NOT EXISTS job (
    path TEXT PRIMARY KEY,          -- the file that was dropped
    name TEXT NOT NULL,             -- its name for people
    fingerprint TEXT NOT NULL,      -- changes with the file: size, time, the export beside it
    state TEXT NOT NULL,            -- waiting, converting, loading, ready, duplicate, failed, deferred (tried again),
                                    -- dismissed (failed, no longer shown), deleted, gone, companion (the export of a
                                    -- report beside it), skipped (a link, a pipe and the
                                    -- like; its path ends with a slash); of a file that lies beside a report also
                                    -- alone (no report yet), columns (to be named)
    report_id TEXT,                 -- the report that it became, or lies beside
    message TEXT NOT NULL DEFAULT '', -- what went wrong, one sentence
    hint TEXT NOT NULL DEFAULT '',  -- what to do about it
    detail TEXT NOT NULL DEFAULT '', -- the converter's own words; before it failed, its ended attempts as JSON
    tools TEXT NOT NULL DEFAULT '', -- converters at hand when it failed: with others it is tried again
    changed_at TEXT NOT NULL,       -- ISO 8601, UTC
    seconds REAL,                   -- from the start of the work to its end
    file_kind TEXT NOT NULL DEFAULT 'report' -- report, or sidecar: a file that belongs to a report beside it
) STRICT;
CREATE INDEX IF NOT EXISTS job_state ON job (state, changed_at);
CREATE INDEX IF NOT EXISTS job_report ON job (report_id);
CREATE INDEX IF NOT EXISTS job_remark ON job (changed_at) WHERE state = 'ready' AND message <> '';
CREATE TABLE IF NOT EXISTS label (
    report_id TEXT NOT NULL,
    label TEXT NOT NULL,
    PRIMARY KEY (report_id, label)
) STRICT;
CREATE INDEX IF NOT EXISTS label_name ON label (label, report_id);
CREATE TABLE IF NOT EXISTS report_title (
    report_id TEXT PRIMARY KEY,
    title TEXT NOT NULL             -- the name that somebody gave it; a report without a row has that of its file
) STRICT;
CREATE TABLE IF NOT EXISTS mark (
    report_id TEXT NOT NULL,
    t_ns INTEGER NOT NULL,          -- from the begin of the capture
    note TEXT NOT NULL,             -- what somebody wrote there
    PRIMARY KEY (report_id, t_ns)
) STRICT;
CREATE TABLE IF NOT EXISTS link (
    nsys_id TEXT PRIMARY KEY,       -- report of Nsight Systems
    ncu_id TEXT NOT NULL            -- report of Nsight Compute that profiles kernels of the same program
) STRICT;
CREATE TABLE IF NOT EXISTS trace_link (
    nsys_id TEXT PRIMARY KEY,       -- report of Nsight Systems
    trace_id TEXT NOT NULL          -- trace of the PyTorch profiler of the same program
) STRICT;
CREATE TABLE IF NOT EXISTS sidecar_columns (
    path TEXT PRIMARY KEY,          -- the table that was dropped beside a report
    columns TEXT NOT NULL           -- what its columns mean (sidecar.Columns), JSON
) STRICT;
CREATE TABLE IF NOT EXISTS series_choice (
    report_id TEXT PRIMARY KEY,
    series TEXT NOT NULL            -- the series that somebody moved it to; empty: it is left out of all
) STRICT;
CREATE TABLE IF NOT EXISTS change_note (
    report_id TEXT NOT NULL,        -- the first report after the change
    measure TEXT NOT NULL,          -- of which it is a change
    state TEXT NOT NULL,            -- accepted, dismissed, or open
    note TEXT NOT NULL,             -- what somebody wrote about it
    changed_at TEXT NOT NULL,       -- ISO 8601, UTC
    PRIMARY KEY (report_id, measure)
) STRICT;
CREATE TABLE IF NOT EXISTS space ( -- what some people see alone
    name TEXT PRIMARY KEY,          -- of its folder in the inbox, without the @
    seen_by TEXT NOT NULL           -- who sees it: values of the claim, names of tokens; JSON
) STRICT;
CREATE TABLE IF NOT EXISTS report_space (
    report_id TEXT NOT NULL,
    space TEXT NOT NULL,            -- one that it is in; empty: everybody's
    PRIMARY KEY (report_id, space)
) STRICT;
CREATE INDEX IF NOT EXISTS report_space_of ON report_space (space, report_id);
CREATE TABLE IF NOT EXISTS share ( -- links that open one report without a login
    id TEXT PRIMARY KEY,
    report_id TEXT NOT NULL,
    made_by TEXT NOT NULL,          -- its creator, as the identity provider names them
    made_at TEXT NOT NULL,          -- ISO 8601, UTC
    ends_at TEXT NOT NULL,          -- ISO 8601, UTC
    digest TEXT NOT NULL            -- SHA-256 of its secret
) STRICT;
CREATE TABLE IF NOT EXISTS stored_file ( -- of a library in a bucket: the object that each file of a report is
    report_id TEXT NOT NULL,
    name TEXT NOT NULL,             -- of the file in a library's folder
    bytes INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    time_ns INTEGER NOT NULL,       -- time of the file, since 1970
    damaged INTEGER NOT NULL,       -- 1 where a reader found that it was damaged when it was put
    PRIMARY KEY (report_id, name)
) STRICT;
CREATE TABLE IF NOT EXISTS retired ( -- reports that retention removed, of which the figures stay (studies/retention.py)
    report_id TEXT PRIMARY KEY,
    retired_at TEXT NOT NULL,       -- ISO 8601, UTC
    summary TEXT NOT NULL           -- facts and figures of its series, JSON
) STRICT;
CREATE TABLE IF NOT EXISTS removal ( -- what retention will remove, announced before
    what TEXT NOT NULL,             -- report, upload
    thing TEXT NOT NULL,            -- id of the report, path of the upload
    name TEXT NOT NULL,             -- for people
    why TEXT NOT NULL,              -- the rule
    bytes INTEGER NOT NULL,
    announced_at TEXT NOT NULL,     -- ISO 8601, UTC
    PRIMARY KEY (what, thing)
) STRICT;
CREATE TABLE IF NOT EXISTS removal_look ( -- one row: when the announcements were last brought up to date
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL                -- ISO 8601, UTC
) STRICT;
CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY,         -- in the order of writing
    at TEXT NOT NULL,               -- ISO 8601, UTC
    who TEXT NOT NULL,              -- the actor, as the identity provider or the token names them
    way TEXT NOT NULL,              -- how they came in: local, login, token, worker, link
    action TEXT NOT NULL,           -- what they did
    report_id TEXT NOT NULL,        -- to which report; empty where to none
    report_name TEXT NOT NULL,      -- its name at that time
    about TEXT NOT NULL             -- what exactly
) STRICT;
CREATE TABLE IF NOT EXISTS access_log ( -- the other half of the audit: what people did that changed no report
    id INTEGER PRIMARY KEY,         -- the columns are those of audit
    at TEXT NOT NULL,
    who TEXT NOT NULL,
    way TEXT NOT NULL,
    action TEXT NOT NULL,
    report_id TEXT NOT NULL,
    report_name TEXT NOT NULL,
    about TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS audit_at ON audit (at, id);
CREATE INDEX IF NOT EXISTS access_log_at ON access_log (at, id);
CREATE TABLE IF NOT EXISTS login ( -- who is logged in: the cookie of a person without a row opens nothing
    person TEXT PRIMARY KEY,        -- SHA-256 of what the identity provider calls them
    name TEXT NOT NULL,             -- what the audit calls them
    generation TEXT NOT NULL,       -- random; each login of the person carries it
    at TEXT NOT NULL                -- of the last login, ISO 8601, UTC
) STRICT;
CREATE TABLE IF NOT EXISTS token_use (
    token_id TEXT PRIMARY KEY,
    used_at TEXT NOT NULL           -- ISO 8601, UTC; a few minutes old at most
) STRICT;
