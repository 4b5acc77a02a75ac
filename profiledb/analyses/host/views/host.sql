-- Building blocks of the CPU analyses: CPU samples of the selected time, their call chains, thread names.
-- includes: selection, cpu_code

-- Times in which GPUs had work of the selection, or lie between such work: the latest end up to each start.
CREATE OR REPLACE VIEW host_work AS
SELECT start_ns, max(max(end_ns)) OVER (ORDER BY start_ns) AS reached_ns FROM selected_busy GROUP BY start_ns;
CREATE OR REPLACE VIEW host_span AS
SELECT start_ns, max(max(end_ns)) OVER (ORDER BY start_ns) AS reached_ns FROM selected_active GROUP BY start_ns;

-- Stretches of the selected time; those at the edges of the capture extend beyond it, because nsys may state its start
-- and end on a different clock than its CPU events.
CREATE OR REPLACE VIEW selected_host_window AS
SELECT CASE WHEN part.start_ns > whole.start_ns THEN part.start_ns ELSE -4000000000000000000 END AS start_ns,
    CASE WHEN part.end_ns < whole.end_ns THEN part.end_ns ELSE 4000000000000000000 END AS end_ns
FROM selected_window AS part CROSS JOIN capture_window AS whole;

-- Samples in the selected time, numbered by source: CPU samples ('cpu') with the number of their call chain, and Python
-- samples ('python') with the number of their stack. `idle`: while no GPU ran selected work, between its first and last
-- operation.
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

-- The requested samples: with `moments` = 'idle' only those while no GPU was busy, with a `label` those of one thread.
CREATE OR REPLACE MACRO selected_sample(kind_of, moments, label) AS TABLE
FROM selected_host_sample
WHERE source = kind_of AND (moments <> 'idle' OR idle) AND (label IS NULL OR thread_label(global_tid) = label::VARCHAR);

-- Names of stack frames, for a kind of call chain (cpu, cuda) or Python (python): names are few and frames many.
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

-- Threads with their names. `role` is the purpose of a thread, if its name states it.
CREATE OR REPLACE VIEW host_thread AS
SELECT global_tid, nullif(any_value(name), '') AS name, CASE
        WHEN regexp_matches(any_value(name), '^\[?NSys|^CUPTI|^nsys(-|$)|^\*\d') THEN 'profiler'
        WHEN regexp_matches(any_value(name), '(?i)pt_data|data_?load|loader|prefetch') THEN 'data loading'
    END AS role
FROM thread GROUP BY global_tid;
