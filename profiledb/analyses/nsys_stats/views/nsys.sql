-- Building blocks of the analyses named after an nsys report.
-- includes: selection

-- Whether an nsys newer than 2023.4 (export schema 3.7) made the export: these versions print some things differently.
CREATE OR REPLACE VIEW export_version AS
SELECT coalesce(TRY_CAST(split[1] AS INTEGER) > 3 OR TRY_CAST(split[2] AS INTEGER) > 7, false) AS is_recent
FROM (SELECT string_split(export_schema_version, '.') AS split FROM report);

-- One decimal as nsys prints it. Until 2023.4 its SQLite rounds 3.15, in truth 3.1499..., up to 3.2 as DuckDB does;
-- newer versions round the exact value down to 3.1. Both round a true tie away from zero.
CREATE OR REPLACE MACRO nsys_round(x) AS CASE
    WHEN (SELECT is_recent FROM export_version) AND x * 4 <> floor(x * 4) THEN format('{:.1f}', x::DOUBLE)::DOUBLE
    ELSE round(x, 1)
END;

-- Sample standard deviation as nsys computes it: n - 1, and 0 for a single value.
CREATE OR REPLACE MACRO deviation(x) AS coalesce(stddev_samp(x), 0);

-- A function as nsys prints it: without a version suffix of four digits; _v10000 stays.
CREATE OR REPLACE MACRO nsys_function(value) AS CASE WHEN value[-6:-5] = '_v' THEN value[:-7] ELSE value END;

-- Kernels by the requested name (demangled, short, mangled), with a number for each distinct name: grouping by the
-- texts takes twice as long.
CREATE OR REPLACE MACRO kernel_names(form) AS TABLE
SELECT name_id,
    CASE form WHEN 'short' THEN short WHEN 'mangled' THEN coalesce(mangled, demangled) ELSE demangled END AS name,
    min(name_id) OVER (PARTITION BY name) AS name_key
FROM kernel_name;

-- Range names as nsys prints them: newer versions put a colon before those of the default domain.
CREATE OR REPLACE VIEW nsys_range_name AS
SELECT name_id, CASE WHEN domain IS NULL AND is_recent THEN ':' ELSE '' END || name AS name
FROM range_name, export_version;

-- Durations of ranges by name and style.
CREATE OR REPLACE VIEW selected_range_sum AS
SELECT name, style, sum(end_ns - start_ns)::BIGINT AS total, count(*) AS num, avg(end_ns - start_ns) AS mean,
    median(end_ns - start_ns) AS med, min(end_ns - start_ns) AS low, max(end_ns - start_ns) AS high,
    deviation(end_ns - start_ns) AS dev
FROM selected_range JOIN nsys_range_name USING (name_id)
GROUP BY name, style;

-- Durations of kernels and memory operations, and with `calls` of CUDA calls, by name alone.
CREATE OR REPLACE MACRO selected_operation_sum(form, calls) AS TABLE
WITH call_text AS (
    SELECT string_id AS name_id, nsys_function(value) AS name
    FROM string WHERE calls AND string_id IN (SELECT name_id FROM selected_api_call)
), numbered AS MATERIALIZED (  -- numbers to group by: texts take twice as long
    SELECT name, row_number() OVER () AS name_key
    FROM (
        SELECT name FROM kernel_names(form) UNION SELECT operation FROM selected_memop UNION SELECT name FROM call_text
    )
), operation AS (
    SELECT name_key, name, end_ns - start_ns AS duration, 'CUDA_KERNEL' AS category
    FROM selected_kernel JOIN (SELECT name_id, name FROM kernel_names(form)) USING (name_id)
    LEFT JOIN numbered USING (name)
    UNION ALL
    SELECT name_key, name, end_ns - start_ns, 'MEMORY_OPER' FROM selected_memop JOIN numbered ON name = operation
    UNION ALL
    SELECT name_key, name, end_ns - start_ns, 'CUDA_API'
    FROM selected_api_call LEFT JOIN call_text USING (name_id) LEFT JOIN numbered USING (name) WHERE calls
)
SELECT any_value(name) AS name, min(category) AS category, sum(duration)::BIGINT AS total, count(*) AS num,
    avg(duration) AS mean, median(duration) AS med, min(duration) AS low, max(duration) AS high,
    deviation(duration) AS dev
FROM operation
GROUP BY name_key;

-- Memory operations with their calls and memory kinds. As in nsys rules, they match by correlation id alone: if
-- processes share one, the calls of all match.
CREATE OR REPLACE VIEW selected_memory_call AS
SELECT memop.*, call_id AS asked_id, string.value AS function, source.label AS source, destination.label AS destination
FROM (SELECT * EXCLUDE (call_id) FROM selected_memop) AS memop
JOIN (SELECT call_id, correlation_id, name_id FROM api_call) USING (correlation_id) JOIN string ON string_id = name_id
LEFT JOIN enum_value AS source ON source.enum = 'CUDA_MEM_KIND' AND source.id = src_kind
LEFT JOIN enum_value AS destination ON destination.enum = 'CUDA_MEM_KIND' AND destination.id = dst_kind;

-- GPU work by nsys rules: kernels and memory operations, by process.
CREATE OR REPLACE VIEW selected_operation AS
SELECT pid_of(global_pid) AS pid, device_id, start_ns, end_ns, context_id, 1 AS source, kernel_id AS id
FROM selected_kernel AS kernel WHERE start_ns > 0
UNION ALL
SELECT pid_of(global_pid), device_id, start_ns, end_ns, context_id, 2, memop_id
FROM selected_memop AS memop WHERE start_ns > 0;

-- Times of profiler flushes, by the three names that nsys 2023.4 uses.
CREATE OR REPLACE VIEW profiler_flush AS
SELECT pid_of(global_tid) AS pid, start_ns, end_ns
FROM profiler_overhead JOIN string ON string_id = name_id
WHERE value IN ('CUDA profiling data flush overhead', 'CUDA profiling stop overhead', 'CUDA profiling overhead');
