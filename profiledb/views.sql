-- Building blocks that analyses share. They are created once beside the attached reports and bound at each query.

-- Whether an nsys after 2023.4 (export schema 3.7) made the export: newer versions print some things differently.
CREATE OR REPLACE VIEW export_version AS
SELECT coalesce(TRY_CAST(split[1] AS INTEGER) > 3 OR TRY_CAST(split[2] AS INTEGER) > 7, false) AS is_recent
FROM (SELECT string_split(export_schema_version, '.') AS split FROM report);

-- One decimal as nsys prints it. Its SQLite rounds 3.15, in truth 3.1499..., up to 3.2 as DuckDB does, until 2023.4,
-- and by its exact value down to 3.1 in newer versions. A true tie goes away from zero in both.
CREATE OR REPLACE MACRO nsys_round(x) AS CASE
    WHEN (SELECT is_recent FROM export_version) AND x * 4 <> floor(x * 4) THEN format('{:.1f}', x::DOUBLE)::DOUBLE
    ELSE round(x, 1)
END;

-- Sample deviation as nsys computes it: n - 1, and 0 for a single value.
CREATE OR REPLACE MACRO deviation(x) AS coalesce(stddev_samp(x), 0);

-- What a selection keeps of each table; without one all of it. selected.py puts others in front of these views.
CREATE OR REPLACE MACRO selected_mode() AS 'thread';
CREATE OR REPLACE VIEW selected_kernel AS FROM kernel;
CREATE OR REPLACE VIEW selected_memop AS FROM memop;
CREATE OR REPLACE VIEW selected_graph_launch AS FROM graph_launch;
CREATE OR REPLACE VIEW selected_api_call AS FROM api_call;
CREATE OR REPLACE VIEW selected_osrt_call AS FROM osrt_call;
CREATE OR REPLACE VIEW selected_mpi_call AS FROM mpi_call;
CREATE OR REPLACE VIEW selected_sync AS FROM sync;
CREATE OR REPLACE VIEW selected_range AS FROM range;
CREATE OR REPLACE VIEW selected_busy AS FROM busy;

-- Kernels with their names and durations.
CREATE OR REPLACE VIEW selected_named_kernel AS
SELECT kernel.*, end_ns - start_ns AS duration_ns, demangled, short, mangled, class
FROM selected_kernel AS kernel LEFT JOIN kernel_name USING (name_id);

-- The time that a capture covers. With a capture range nsys states begin and end on another clock than that of the
-- operations, which then count from the begin of the range: so the stated window holds only where the operations lie
-- in it, else [0, length], else what the operations themselves cover. A report without operations has what it states.
CREATE OR REPLACE VIEW capture_window AS
WITH stated AS (
    SELECT report.start_ns, stop_ns, coalesce(duration_ns, stop_ns - report.start_ns) AS length_ns,
        (SELECT min(start_ns) FROM busy) AS first_ns, (SELECT max(end_ns) FROM busy) AS last_ns
    FROM report
), fit AS (
    SELECT *, coalesce(start_ns <= first_ns AND stop_ns >= last_ns, first_ns IS NULL) AS inside,
        coalesce(first_ns >= 0 AND length_ns >= last_ns, false) AS from_zero
    FROM stated
), edges AS (
    SELECT CASE WHEN inside THEN start_ns WHEN from_zero THEN 0 ELSE first_ns END AS low,
        CASE WHEN inside THEN stop_ns WHEN from_zero THEN length_ns
            ELSE greatest(last_ns, first_ns + length_ns) END AS high
    FROM fit
)
SELECT low AS start_ns, high AS end_ns, high - low AS duration_ns FROM edges;

-- The stretches of timethat the selection covers, without overlap.
CREATE OR REPLACE VIEW selected_window AS SELECT start_ns, end_ns FROM capture_window;

-- A name that fits into a table: the kernel without templates and arguments, and for general launchers such as
-- vectorized_elementwise_kernel the function, functor or operation that they were made for.
CREATE OR REPLACE MACRO readable_name(short, demangled) AS (
    SELECT CASE WHEN detail IN ('', short) THEN short ELSE short || ' · ' || detail END
    FROM (
        SELECT regexp_replace(coalesce(
            nullif(regexp_extract(demangled, '(\w+)\([^()]*\)(?: const)?::[\[{]lambda', 1), ''),
            nullif(regexp_extract(demangled, '<.*?\b(\w*Functor_\w+|(?:[C-Z]|Add|Bu)\w*Functor)\b', 1), ''),
            nullif(regexp_extract(demangled, '<.*?\b(\w+Ops?)\b', 1), ''),
            nullif(regexp_extract(demangled, '<(cutlass_\w+)', 1), ''), ''
        ), '(_kernel)?(_cuda|_impl|CUDAKernelImpl|CUDAKernel)?$', '') AS detail
    )
);

-- Blocks or threads in three dimensions as a text: 132x1x1.
CREATE OR REPLACE MACRO dimensions(x, y, z) AS x || 'x' || y || 'x' || z;

-- The kernels that a value means: a number of kernel_name, or a full name. Names that differ only in their mangled
-- form are one kernel.
CREATE OR REPLACE MACRO kernel_ids(chosen) AS TABLE
SELECT name_id FROM kernel_name WHERE demangled IN (
    SELECT demangled FROM kernel_name WHERE name_id = TRY_CAST(chosen AS INTEGER) OR demangled = chosen::VARCHAR
);

-- Names of kernels with the number that stands for each: the smallest of those that share the full name.
CREATE OR REPLACE VIEW kernel_key AS
SELECT name_id, min(name_id) OVER (PARTITION BY demangled) AS kernel, demangled, short, mangled, class
FROM kernel_name;

-- What the launches that ncu measured are limited by (reference: SpeedOfLight rule of Nsight Compute 2024.1).
-- Compute and memory are percent of the peak, waves_per_sm tells a grid that does not fill the GPU once.
CREATE OR REPLACE MACRO ncu_verdict(compute_pct, memory_pct, waves_per_sm) AS CASE
    WHEN compute_pct IS NULL OR memory_pct IS NULL THEN NULL
    WHEN greatest(compute_pct, memory_pct) >= 80 THEN 'high throughput'
    WHEN greatest(compute_pct, memory_pct) < 60 AND waves_per_sm < 1 THEN 'small grid'
    WHEN greatest(compute_pct, memory_pct) < 60 THEN 'latency bound'
    WHEN abs(compute_pct - memory_pct) < 10 THEN 'balanced'
    WHEN compute_pct > memory_pct THEN 'compute bound'
    ELSE 'memory bound'
END;

-- What the rules of nsys count as work of a GPU: kernels and memory operations, by process.
CREATE OR REPLACE VIEW selected_operation AS
SELECT (global_pid >> 24) & 16777215 AS pid, device_id, start_ns, end_ns, context_id, 1 AS source, kernel_id AS id
FROM selected_kernel AS kernel WHERE start_ns > 0
UNION ALL
SELECT (global_pid >> 24) & 16777215, device_id, start_ns, end_ns, context_id, 2, memop_id
FROM selected_memop AS memop WHERE start_ns > 0;

-- Times in which the profiler flushed its data, by the three names that nsys 2023.4 knows for it.
CREATE OR REPLACE VIEW profiler_flush AS
SELECT (global_tid >> 24) & 16777215 AS pid, start_ns, end_ns
FROM profiler_overhead JOIN string ON string_id = name_id
WHERE value IN ('CUDA profiling data flush overhead', 'CUDA profiling stop overhead', 'CUDA profiling overhead');

-- Names of ranges as nsys prints them: newer versions put a colon before those of the default domain.
CREATE OR REPLACE VIEW nsys_range_name AS
SELECT name_id, CASE WHEN domain IS NULL AND is_recent THEN ':' ELSE '' END || name AS name
FROM range_name, export_version;

-- The range that an operation or call belongs to in the mode of the selection.
CREATE OR REPLACE MACRO range_by_mode(thread_range, process_range) AS
CASE selected_mode() WHEN 'process' THEN process_range ELSE thread_range END;

-- Whether a range looks like a warm-up.
CREATE OR REPLACE MACRO is_warmup(name) AS regexp_matches(name, 'warm[ _-]?up', 'i');
