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
CREATE TABLE IF NOT EXISTS detected (
    key TEXT PRIMARY KEY,           -- hash of the values of a series and of what looks for changes
    found TEXT NOT NULL             -- change points, JSON
) STRICT;
