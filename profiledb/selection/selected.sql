-- The selected part of a report, and helpers that all analyses share.

-- OS process and thread in a global id: its bits 24 to 47, and 0 to 23.
CREATE OR REPLACE MACRO pid_of(global_id) AS (global_id >> 24) & 16777215;
CREATE OR REPLACE MACRO tid_of(global_tid) AS global_tid & 16777215;

-- Readable thread id: process and thread id of the operating system.
CREATE OR REPLACE MACRO thread_label(global_tid) AS pid_of(global_tid) || ' / ' || tid_of(global_tid);

-- Whether a table of the report has rows, given its name as a literal. Where it is known (filled_tables.py), it is a
-- constant, and nothing is planned that needs the rows of an empty table. Not for tables that begin with ncu_.
CREATE OR REPLACE MACRO has_rows(name) AS EXISTS (FROM query_table(name));

-- Return true for a message with which nsys reports that it failed to process recorded events.
CREATE OR REPLACE MACRO tells_lost_events(text) AS starts_with(text, 'Error when processing events');

-- Rows of each table that a selection keeps; without one all of them. views.py overrides these views.
CREATE OR REPLACE MACRO selected_mode() AS 'process';
CREATE OR REPLACE MACRO selected_warmup() AS 'include';
CREATE OR REPLACE MACRO selected_device() AS NULL::INTEGER;
CREATE OR REPLACE MACRO selected_within() AS 'all';
CREATE OR REPLACE VIEW selected_kernel AS FROM kernel;
CREATE OR REPLACE VIEW selected_memop AS FROM memop;
CREATE OR REPLACE VIEW selected_graph_launch AS FROM graph_launch;
CREATE OR REPLACE VIEW selected_api_call AS FROM api_call;
CREATE OR REPLACE VIEW selected_osrt_call AS FROM osrt_call;
CREATE OR REPLACE VIEW selected_mpi_call AS FROM mpi_call;
CREATE OR REPLACE VIEW selected_openmp_event AS FROM openmp_event;
CREATE OR REPLACE VIEW selected_sync AS FROM sync;
CREATE OR REPLACE VIEW selected_tensor_event AS FROM tensor_event;
CREATE OR REPLACE VIEW selected_range AS FROM range;
CREATE OR REPLACE VIEW selected_busy AS FROM busy;

-- Kernels with their names and durations.
CREATE OR REPLACE VIEW selected_named_kernel AS
SELECT kernel.*, end_ns - start_ns AS duration_ns, demangled, short, mangled, class
FROM selected_kernel AS kernel LEFT JOIN kernel_name USING (name_id);

-- The time that a capture covers. With a capture range nsys states start and end on a different clock than the
-- operations, which then count from the start of the range: the stated window holds only if the operations lie in it,
-- else [0, length], else the extent of the operations. Without GPU work, OpenMP regions replace the operations; a
-- report without either uses the stated window.
CREATE OR REPLACE VIEW capture_window AS
WITH work AS (
    SELECT start_ns, end_ns FROM busy
    UNION ALL SELECT start_ns, end_ns FROM openmp_event WHERE kind = 'parallel' AND NOT has_rows('busy')
), stated AS (
    SELECT start_ns, stop_ns, coalesce(duration_ns, stop_ns - start_ns) AS length_ns, first_ns, last_ns
    FROM report CROSS JOIN (SELECT min(start_ns) AS first_ns, max(end_ns) AS last_ns FROM work)
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

-- Stretches of selected time, without overlap.
CREATE OR REPLACE VIEW selected_window AS SELECT start_ns, end_ns FROM capture_window;

-- Stretches of selected time, by GPU, between the first and last operation of the selection. Selected times cut them
-- and do not shorten them, so a gap between two operations counts even if both lie outside.
CREATE OR REPLACE VIEW selected_active AS
SELECT device_id, min(start_ns) AS start_ns, max(end_ns) AS end_ns FROM busy GROUP BY device_id;

-- A kernel name short enough for a table: without templates and arguments, and for generic launchers such as
-- vectorized_elementwise_kernel the function, functor or operation that they run. Numba appends a tag of its ABI. It
-- goes over a list: a subquery would be a join of all names with themselves.
CREATE OR REPLACE MACRO readable_name(short, demangled) AS list_transform([{
    'detail': regexp_replace(coalesce(
        nullif(regexp_extract(demangled, '(\w+)\([^()]*\)(?: const)?::[\[{]lambda', 1), ''),
        nullif(regexp_extract(demangled, '\bBinaryOp\w*Functor<[^<>]*>, std::(\w+)<', 1), ''),
        nullif(regexp_extract(demangled, '<.*?\b(\w*Functor(?:On\w+)?_\w+|(?:[C-Z]|Add|Bu)\w*Functor)\b', 1), ''),
        nullif(regexp_extract(demangled, '<.*?\b(\w+Ops?)\b', 1), ''),
        nullif(regexp_extract(demangled, '<(cutlass_\w+)', 1), ''), ''
    ), '(_kernel)?(_cuda|_impl|CUDAKernelImpl|CUDAKernel)?$', ''),
    'plain': regexp_replace(short, '\[abi:[^\]]*\]$', '')
}], LAMBDA one: CASE WHEN one.detail NOT IN ('', one.plain) THEN one.plain || ' · ' || one.detail
    WHEN one.plain = 'kernel' THEN coalesce(nullif(regexp_extract(demangled, '\w+::kernel\b'), ''), one.plain)
    ELSE one.plain END)[1];

-- Blocks or threads in three dimensions as text: 132x1x1.
CREATE OR REPLACE MACRO dimensions(x, y, z) AS x || 'x' || y || 'x' || z;

-- Kernels for a value: a number of kernel_name, or a full name. Names that differ only in their mangled form are one
-- kernel.
CREATE OR REPLACE MACRO kernel_ids(chosen) AS TABLE
SELECT name_id FROM kernel_name WHERE demangled IN (
    SELECT demangled FROM kernel_name WHERE name_id = TRY_CAST(chosen AS INTEGER) OR demangled = chosen::VARCHAR
);

-- Kernel names with their representative number, the smallest among equal full names, and their readable name.
CREATE OR REPLACE VIEW kernel_key AS
SELECT name_id, min(name_id) OVER (PARTITION BY demangled) AS kernel, demangled, short, mangled, class,
    readable_name(short, demangled) AS readable
FROM kernel_name;

-- The one verdict on a launch that ncu measured, by the thresholds of Nsight Compute's own SpeedOfLight rule (2024.1,
-- sections/SpeedOfLight.py): below 60 % of both peaks latency, else the busier one of compute and memory. Where the two
-- are less than 10 points apart the rule does not decide; then memory counts by the device memory alone, for caches are
-- as busy as the pipes that they feed. All three are percent of the peak.
CREATE OR REPLACE MACRO ncu_verdict(compute_pct, memory_pct, dram_pct) AS CASE
    WHEN compute_pct IS NULL OR memory_pct IS NULL THEN 'not measured'
    WHEN greatest(compute_pct, memory_pct) < 60 THEN 'latency bound'
    WHEN compute_pct >= memory_pct OR (memory_pct - compute_pct < 10 AND compute_pct >= dram_pct) THEN 'compute bound'
    ELSE 'memory bound'
END;

-- What limits the launch in one word, empty where it was not measured: the verdict as columns named "bound" hold it.
CREATE OR REPLACE MACRO verdict_word(verdict) AS CASE
    WHEN verdict <> 'not measured' THEN replace(verdict, ' bound', '') END;

-- The one number that proves a verdict: how busy the side is that limits the launch, or for latency the busier one.
CREATE OR REPLACE MACRO verdict_pct(verdict, compute_pct, memory_pct) AS CASE verdict
    WHEN 'compute bound' THEN compute_pct
    WHEN 'memory bound' THEN memory_pct
    WHEN 'latency bound' THEN greatest(compute_pct, memory_pct)
END;

-- The numbers behind a verdict, or what is missing for one; what the rule says beyond it from 80 % of a peak on, and of
-- a grid that does not fill the GPU once.
CREATE OR REPLACE MACRO verdict_reason(verdict, compute_pct, memory_pct, dram_pct, waves_per_sm) AS CASE
    WHEN compute_pct IS NULL AND memory_pct IS NULL THEN 'speed of light was not collected'
    WHEN compute_pct IS NULL THEN 'compute throughput was not collected'
    WHEN memory_pct IS NULL THEN 'memory throughput was not collected'
    ELSE format('compute {:.1f} %, memory {:.1f} % of peak', compute_pct, memory_pct) || CASE
        WHEN verdict = 'compute bound' AND memory_pct > compute_pct THEN format(' (DRAM {:.1f} %)', dram_pct)
        ELSE '' END || CASE
        WHEN greatest(compute_pct, memory_pct) >= 80 THEN ', near its peak'
        WHEN verdict = 'latency bound' AND waves_per_sm < 1
            THEN format(', grid too small: {:.2f} waves', waves_per_sm)
        ELSE '' END
END;

-- The range that an operation or call belongs to in the mode of the selection.
CREATE OR REPLACE MACRO range_by_mode(thread_range, process_range) AS
CASE selected_mode() WHEN 'process' THEN process_range ELSE thread_range END;

-- Whether a range looks like warm-up.
CREATE OR REPLACE MACRO is_warmup(name) AS regexp_matches(name, 'warm[ _-]?up', 'i');
