-- Rows of a trace for derived tables, in the form of ingest/derive/staging.py.

-- If edges are equal, an annotation encloses a module, a module encloses an operator, and an operator encloses later
-- ones: their external ids count up.
CREATE OR REPLACE TEMP TABLE numbered_range AS
SELECT number, row_number() OVER (ORDER BY start_ns, end_ns DESC, rank, external_id, number) AS range_id,
    on_clock(start_ns) AS start_ns, CASE WHEN end_ns >= start_ns THEN on_clock(end_ns) END AS end_ns, thread, name,
    domain, rank
FROM trace_range;
DROP TABLE temp.trace_range;

DROP TABLE temp.staged_range;
CREATE TEMP VIEW staged_range AS
SELECT range_id, start_ns, end_ns, true AS closed, 'PushPop' AS style, name_id, global_tid,
    NULL::BIGINT AS end_global_tid
FROM numbered_range JOIN thread_of USING (thread)
JOIN name_of ON name_of.name = numbered_range.name AND name_of.rank = numbered_range.rank
    AND name_of.domain IS NOT DISTINCT FROM numbered_range.domain;

-- Calls and operations are numbered from 1: samples refer to calls by number.
CREATE OR REPLACE TEMP TABLE numbered_call AS
SELECT row_number() OVER (ORDER BY number) AS call_id, * EXCLUDE (number) FROM trace_call;
DROP TABLE temp.trace_call;

CREATE OR REPLACE TEMP TABLE numbered_operation AS
SELECT row_number() OVER (PARTITION BY CASE kind WHEN 'memset' THEN 'memcpy' ELSE kind END ORDER BY kind, number) AS id,
    *
FROM trace_operation;
DROP TABLE temp.trace_operation;

DROP TABLE temp.staged_api_call;
CREATE TEMP VIEW staged_api_call AS
SELECT call_id, on_clock(start_ns) AS start_ns, on_clock(end_ns) AS end_ns, global_tid,
    nullif(correlation_id, 0) AS correlation_id, string_id AS name_id, is_driver::INTEGER AS event_class
FROM numbered_call JOIN thread_of USING (thread) LEFT JOIN text_of ON text_of.id = numbered_call.name;

-- GPU events name no process: an operation belongs to the process of the call with its correlation id, else to the
-- process with the most calls.
CREATE OR REPLACE TEMP TABLE process_of AS
SELECT correlation_id, min(global_pid) AS global_pid
FROM numbered_call JOIN thread_of USING (thread) WHERE correlation_id <> 0 GROUP BY correlation_id;
CREATE OR REPLACE TEMP VIEW placed AS
SELECT numbered_operation.* EXCLUDE (correlation_id), nullif(correlation_id, 0) AS correlation_id,
    coalesce(process_of.global_pid, getvariable('main_process'), 0)::BIGINT AS global_pid, text
FROM numbered_operation LEFT JOIN process_of USING (correlation_id)
LEFT JOIN text_of ON text_of.id = numbered_operation.name;

CREATE OR REPLACE TEMP TABLE kernel_of AS
SELECT row_number() OVER (ORDER BY name)::INTEGER AS name_id, name FROM numbered_operation WHERE kind = 'kernel'
GROUP BY name;

DROP TABLE temp.staged_kernel;
CREATE TEMP VIEW staged_kernel AS
SELECT id AS kernel_id, on_clock(start_ns) AS start_ns, on_clock(end_ns) AS end_ns, device_id, context_id,
    stream_id, correlation_id, global_pid, name_id, grid_x, grid_y, grid_z, block_x, block_y, block_z,
    registers AS registers_per_thread, nullif(graph_node_id, 0) AS graph_node_id, nullif(graph_id, 0) AS graph_id
FROM placed JOIN kernel_of USING (name) WHERE kind = 'kernel';

DROP TABLE temp.staged_graph_launch;
CREATE TEMP VIEW staged_graph_launch AS
SELECT id AS launch_id, on_clock(start_ns) AS start_ns, on_clock(end_ns) AS end_ns, device_id, context_id, stream_id,
    correlation_id, global_pid, nullif(graph_id, 0) AS graph_id
FROM placed WHERE kind = 'graph';

-- "Memcpy HtoD (Pageable -> Device)", on AMD also "CopyHostToDevice", on Intel "zeCommandListAppendMemoryCopy(M2D)",
-- where M is memory of the system, H memory for GPUs on the host; kinds and directions use the numbers of nsys.
DROP TABLE temp.staged_memop;
CREATE OR REPLACE TEMP MACRO memory_of(letter, sign, text) AS
CASE WHEN sign = '2' THEN CASE letter WHEN 'M' THEN 'Pageable' WHEN 'D' THEN 'Device'
        WHEN 'H' THEN CASE WHEN contains(text, '(') THEN 'Pinned' END END END;
CREATE TEMP VIEW staged_memop AS
WITH named AS (
    SELECT *, coalesce(nullif(regexp_extract(text, '(?:\b|^Memcpy)([HMD]2[HMD])\b', 1), ''),
            regexp_extract(text, '^(?:Memcpy |Copy)(\w+)', 1)) AS direction,
        coalesce(nullif(regexp_extract(text, '\(([\w ]+) -> ', 1), ''), memory_of(direction[1], direction[2], text))
            AS source,
        coalesce(nullif(regexp_extract(text, '-> ([\w ]+)\)$', 1), ''),
            nullif(regexp_extract(text, '^Memset \(([\w ]+)\)$', 1), ''), memory_of(direction[3], direction[2], text)
        ) AS target
    FROM placed WHERE kind IN ('memcpy', 'memset')
), coded AS (
    SELECT *, CASE WHEN kind = 'memcpy'
        THEN CASE replace(regexp_replace(direction, '^(\w)2(\w)$', '\1to\2'), 'M', 'H')
            WHEN 'HtoD' THEN 1 WHEN 'HostToDevice' THEN 1 WHEN 'DtoH' THEN 2 WHEN 'DeviceToHost' THEN 2
            WHEN 'HtoA' THEN 3 WHEN 'AtoH' THEN 4 WHEN 'AtoA' THEN 5 WHEN 'AtoD' THEN 6 WHEN 'DtoA' THEN 7
            WHEN 'DtoD' THEN 8 WHEN 'DeviceToDevice' THEN 8 WHEN 'HtoH' THEN 9
            WHEN 'HostToHost' THEN 9 WHEN 'PtoP' THEN 10 WHEN 'PeerToPeer' THEN 10 ELSE 0
        END END AS copy_kind
    FROM named
)
SELECT coded.id AS memop_id, kind,
    CASE kind WHEN 'memcpy' THEN '[CUDA memcpy ' || oper.label || ']' ELSE '[CUDA memset]' END AS operation,
    on_clock(start_ns) AS start_ns, on_clock(end_ns) AS end_ns, device_id, context_id, stream_id, correlation_id,
    global_pid, bytes, copy_kind, CASE WHEN kind = 'memcpy' THEN source.id::INTEGER END AS src_kind,
    target.id::INTEGER AS dst_kind, nullif(graph_node_id, 0) AS graph_node_id
FROM coded
LEFT JOIN enum_value AS oper ON oper.enum = 'CUDA_MEMCPY_OPER' AND oper.id = copy_kind
LEFT JOIN enum_value AS source ON source.enum = 'CUDA_MEM_KIND' AND source.label = coded.source
LEFT JOIN enum_value AS target ON target.enum = 'CUDA_MEM_KIND' AND target.label = trim(coded.target);

-- A renamed thread has several names: "thread 1480 (pt_autograd_0)" and "(python3)". Autograd threads run the backward
-- pass; if the trace does not name them, they are the threads without annotations that run backward operators.
INSERT INTO staged_thread BY NAME
WITH raw_name AS (
    SELECT thread_id(pid, tid) AS thread, regexp_extract(name, '\((.+)\)$', 1) AS inner_name, name FROM trace_name
    WHERE kind = 'thread_name'
), named AS (
    SELECT thread, coalesce(nullif(inner_name, ''), name) AS name FROM raw_name
), best AS (
    SELECT thread, arg_max(name, (starts_with(name, 'pt_autograd'), NOT starts_with(name, 'python'), name)) AS name
    FROM named GROUP BY thread
), works AS (
    SELECT thread, bool_or(rank = 0) AS annotated, bool_or(rank = 3 AND (
        starts_with(text, 'autograd::engine::evaluate_function') OR regexp_matches(text, '^\w+Backward\d*$')
    )) AS backward
    FROM numbered_range JOIN name_of USING (name, rank) GROUP BY thread
)
SELECT global_tid, cut(clean(CASE
        WHEN backward AND NOT annotated AND NOT coalesce(starts_with(best.name, 'pt_autograd'), false)
            AND global_tid & 16777215 <> global_tid // 16777216 AND (SELECT count(*) FROM works) > 1
            THEN 'pt_autograd (' || coalesce(best.name, tid) || ')'
        WHEN best.name IS NULL AND NOT plain_tid AND tid <> '' THEN tid ELSE best.name END), 200) AS name
FROM thread_of LEFT JOIN best USING (thread) LEFT JOIN works USING (thread);
