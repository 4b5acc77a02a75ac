-- Building blocks of the analyses of the host: CPU samples of the selected time, their call chains, threads by name.
-- includes: selection, cpu_code

-- When GPUs had work of the selection, and when they lie between such work: up to when it had reached, by its begins.
CREATE OR REPLACE VIEW host_work AS
SELECT start_ns, max(max(end_ns)) OVER (ORDER BY start_ns) AS reached_ns FROM selected_busy GROUP BY start_ns;
CREATE OR REPLACE VIEW host_span AS
SELECT start_ns, max(max(end_ns)) OVER (ORDER BY start_ns) AS reached_ns FROM selected_active GROUP BY start_ns;

-- The stretches of time that the selection covers; those at the edges of the capture reach beyond them, because nsys
-- may state its begin and end on another clock than that of what it recorded on the host.
CREATE OR REPLACE VIEW selected_host_window AS
SELECT CASE WHEN part.start_ns > whole.start_ns THEN part.start_ns ELSE -4000000000000000000 END AS start_ns,
    CASE WHEN part.end_ns < whole.end_ns THEN part.end_ns ELSE 4000000000000000000 END AS end_ns
FROM selected_window AS part CROSS JOIN capture_window AS whole;

-- The samples that lie in the time that the selection covers, numbered by their source: those of the CPU ('cpu') with
-- the number of their call chain, and those of Python threads ('python') with that of their stack. `idle`: while no GPU
-- ran anything of the selection, between its first and its last operation.
CREATE OR REPLACE VIEW selected_host_sample AS
WITH taken AS (
    SELECT 'cpu' AS source, sample_id, time_ns, global_tid FROM cpu_sample
    UNION ALL SELECT 'python', stack_id, time_ns, global_tid FROM python_sample WHERE kind = 'sample'
), inside AS (
    SELECT sample.* FROM taken AS sample
    ASOF JOIN selected_host_window AS part ON sample.time_ns >= part.start_ns WHERE sample.time_ns < part.end_ns
), at_work AS (
    SELECT inside.*, coalesce(time_ns < work.reached_ns, false) AS busy
    FROM inside ASOF LEFT JOIN host_work AS work ON inside.time_ns >= work.start_ns
)
SELECT source, row_number() OVER (PARTITION BY source ORDER BY time_ns, global_tid, sample_id) AS number, sample_id,
    time_ns, global_tid,
    NOT busy AND coalesce(time_ns < span.reached_ns, false) AS idle
FROM at_work ASOF LEFT JOIN host_span AS span ON at_work.time_ns >= span.start_ns;

-- Those that are looked at: with `moments` = 'idle' only those while no GPU worked, with a `label` those of one thread.
CREATE OR REPLACE MACRO selected_sample(kind_of, moments, label) AS TABLE
FROM selected_host_sample
WHERE source = kind_of AND (moments <> 'idle' OR idle) AND (label IS NULL OR thread_label(global_tid) = label::VARCHAR);

-- What frames of stacks are called, of a kind of call chain (cpu, cuda) or of Python (python): names are few and frames
-- many.
CREATE OR REPLACE MACRO host_frame(chain_kind) AS TABLE
WITH frame AS (
    SELECT callchain_id, coalesce(depth, 0) AS depth, coalesce(symbol_id, -1) AS symbol_id,
        coalesce(module_id, -1) AS module_id, coalesce(unresolved, false) AS unresolved
    FROM callchain WHERE kind = CASE chain_kind WHEN 'cpu' THEN 'sample' ELSE chain_kind END
), named AS (
    SELECT symbol_id, module_id, unresolved, module.value AS path, module_file(module.value) AS module,
        frame_name(symbol.value, module.value, unresolved) AS function
    FROM (SELECT DISTINCT symbol_id, module_id, unresolved FROM frame)
    LEFT JOIN string AS symbol ON symbol.string_id = symbol_id
    LEFT JOIN string AS module ON module.string_id = module_id
)
SELECT callchain_id, depth, function, module, path, NULL AS line
FROM frame JOIN named USING (symbol_id, module_id, unresolved)
UNION ALL
SELECT stack_id, coalesce(depth, 0), coalesce(nullif("function", ''), '[no name]'), module_file(file), file, line
FROM python_frame WHERE chain_kind = 'python';

-- Threads with their names. `role` says what one is there for, where its name tells.
CREATE OR REPLACE VIEW host_thread AS
SELECT global_tid, nullif(any_value(name), '') AS name, CASE
        WHEN regexp_matches(any_value(name), '^\[?NSys|^CUPTI|^nsys(-|$)|^\*\d') THEN 'profiler'
        WHEN regexp_matches(any_value(name), '(?i)pt_data|data_?load|loader|prefetch') THEN 'data loading'
    END AS role
FROM thread GROUP BY global_tid;
