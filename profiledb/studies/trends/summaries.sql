-- Summaries of reports: one SQLite file beside the catalog, which the worker writes and everybody reads. All of it can
-- be made again from the reports; what people decide about series and changes stands in the catalog.
CREATE TABLE IF NOT EXISTS summary (
    report_id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,       -- of what makes summaries: one of another version is made again
    stamp TEXT NOT NULL,            -- changes with the files of the report and those beside it
    name TEXT NOT NULL,             -- file name as it was dropped
    kind TEXT NOT NULL,             -- tool family: nsys, torch
    gpu TEXT,                       -- names of the GPUs that were used
    gpus INTEGER,                   -- how many GPUs worked
    command TEXT,                   -- program that was profiled, with its arguments
    captured_at TEXT NOT NULL,      -- ISO 8601, UTC; when it was taken in where the report does not tell
    driver TEXT,                    -- version of the NVIDIA driver
    tool TEXT,                      -- profiler with its version
    machine TEXT,                   -- processor and operating system
    capture TEXT NOT NULL,          -- kinds of data that were recorded
    basis TEXT NOT NULL,            -- what sums are divided by: name of the steps, empty for the whole selection
    meta TEXT NOT NULL              -- what the program said of its run, JSON, texts by name
) STRICT;
CREATE TABLE IF NOT EXISTS summary_change ( -- which summaries were written or removed, so that readers read these alone
    number INTEGER PRIMARY KEY AUTOINCREMENT, -- in the order of writing; the oldest rows are removed
    report_id TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS measure (
    report_id TEXT NOT NULL,
    measure TEXT NOT NULL,          -- wall_ns, kernel_ns ... (measures.py); class, range, kernel, finding for parts
    name TEXT NOT NULL,             -- which class, range, kernel or rule; empty for the report as a whole
    value REAL NOT NULL,            -- per step where the report has steps; unit by the measure
    low REAL,                       -- shortest step, of wall_ns
    high REAL,                      -- 95 % of the steps take at most this long, of wall_ns
    title TEXT,                     -- readable name of a kernel
    PRIMARY KEY (report_id, measure, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS measure_of_all ON measure (measure, report_id, value, low, high) WHERE name = '';
CREATE TABLE IF NOT EXISTS rank (   -- of reports that are of a distributed run (runs/rank_summary.py)
    report_id TEXT NOT NULL,
    lane INTEGER NOT NULL,          -- GPU and process within the report, from 0
    rank INTEGER,                   -- rank; empty where nothing tells it
    size INTEGER,                   -- ranks of the run
    run TEXT NOT NULL,              -- name of the report without the rank
    is_named INTEGER NOT NULL,      -- 1 where the name of the report tells the rank
    run_id TEXT NOT NULL,           -- hash of the launcher's name of the run
    restarts INTEGER,               -- restarts of the run before
    host TEXT NOT NULL,             -- name of the machine
    gpu TEXT NOT NULL,              -- product name
    begin_ns INTEGER,               -- start of the capture, ns since 1970 on the clock of its machine
    end_ns INTEGER,                 -- end of the capture
    told_by TEXT NOT NULL,          -- source of the steps: ranges, kernels, nothing
    steps INTEGER NOT NULL,         -- steps that count
    step_ns REAL NOT NULL,          -- their mean length
    step_rows BLOB NOT NULL,        -- Arrow tables, bounded
    operation_rows BLOB NOT NULL,
    kernel_rows BLOB NOT NULL,
    idle_rows BLOB NOT NULL,
    PRIMARY KEY (report_id, lane)
) STRICT;
CREATE INDEX IF NOT EXISTS rank_run ON rank (run_id);
CREATE INDEX IF NOT EXISTS rank_name ON rank (run);
CREATE TABLE IF NOT EXISTS detected (
    key TEXT PRIMARY KEY,           -- hash of the values of a series and of what looks for changes
    found TEXT NOT NULL             -- change points, JSON
) STRICT;
CREATE TABLE IF NOT EXISTS series_member ( -- which report is in which series (series_members.py)
    report_id TEXT PRIMARY KEY,
    series TEXT NOT NULL,           -- name; empty where somebody left the report out
    hint TEXT NOT NULL,             -- hash of labels and of a decision that it goes by, empty without
    at TEXT NOT NULL,               -- ISO 8601, UTC; the order within the series, then captured_at and report_id
    captured_at TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS series_member_order ON series_member (series, at, captured_at, report_id);
CREATE INDEX IF NOT EXISTS series_member_hint ON series_member (report_id, hint) WHERE hint <> '';
CREATE TABLE IF NOT EXISTS series_line (
    series TEXT PRIMARY KEY,
    turn INTEGER NOT NULL,          -- another one whenever a member is added, changed or removed
    reports INTEGER NOT NULL,       -- members
    lines TEXT                      -- what lists show of it (series_lines.py), JSON; NULL until somebody asks
) STRICT;
CREATE TABLE IF NOT EXISTS series_state ( -- one row: what the members were made of
    id INTEGER PRIMARY KEY,
    rules TEXT NOT NULL,            -- hash of the rules
    number INTEGER NOT NULL,        -- of the last change that they know (summary_change)
    turn INTEGER NOT NULL           -- the last one given
) STRICT;
