-- Load a batch of events (`trace_batch`: number, event as JSON) into the tables of events.sql. Times are also searched
-- for in the text, because the parser turns them into floating point: see time_of.
CREATE OR REPLACE TEMP TABLE one AS
WITH parsed AS (
    SELECT number, read_event(event) AS e, regexp_extract(event, '"ts"\s*:\s*"?(\d+(?:\.\d+)?)', 1) AS ts,
        regexp_extract(event, '"dur"\s*:\s*"?(\d+(?:\.\d+)?)', 1) AS dur
    FROM trace_batch
)
SELECT number, e.ph AS ph, e.id AS id, e.pid AS pid, e.tid AS tid, e.args AS a, e.cat AS cat,
    cut(e.name, 4096) AS name, time_of(ts, e.ts) AS start_ns, start_ns + time_of(dur, e.dur) AS end_ns,
    CASE WHEN e IS NULL THEN 'unreadable'
        WHEN e.ph = 'X' THEN CASE lower(e.cat)
            WHEN 'cpu_op' THEN 'operator' WHEN 'operator' THEN 'operator'
            WHEN 'user_annotation' THEN 'annotation'
            WHEN 'python_function' THEN 'python'
            WHEN 'kernel' THEN 'kernel'
            WHEN 'gpu_memcpy' THEN 'memcpy' WHEN 'memcpy' THEN 'memcpy'
            WHEN 'gpu_memset' THEN 'memset' WHEN 'memset' THEN 'memset'
            WHEN 'gpu_graph' THEN 'graph'
            WHEN 'cuda_runtime' THEN 'runtime' WHEN 'runtime' THEN 'runtime' WHEN 'hip_runtime' THEN 'runtime'
            WHEN 'xpu_runtime' THEN 'runtime' WHEN 'mtia_runtime' THEN 'runtime'
            WHEN 'privateuse1_runtime' THEN 'runtime'
            WHEN 'cuda_driver' THEN 'driver' WHEN 'xpu_driver' THEN 'driver'
            WHEN 'privateuse1_driver' THEN 'driver'
            WHEN 'cuda_sync' THEN 'sync'
            WHEN 'overhead' THEN 'overhead'
            WHEN 'trace' THEN 'frame'
            WHEN 'gpu_user_annotation' THEN 'gpu_user_annotation' WHEN 'cuda_event' THEN 'cuda_event'
            ELSE 'range' END
        WHEN e.ph IN ('i', 'I') AND e.name = '[memory]' THEN 'memory'
        WHEN e.ph IN ('i', 'I') AND e.name = '[OutOfMemory]' THEN 'out_of_memory'
        WHEN e.ph IN ('i', 'I') AND starts_with(e.name, 'Iteration Start') THEN 'frame'
        WHEN e.ph IN ('i', 'I') AND e.name = 'Record Window End' THEN 'frame'
        WHEN e.ph IN ('i', 'I') THEN 'mark'
        WHEN e.ph = 'M' THEN e.name
        WHEN e.ph IN ('s', 'f', 't') THEN CASE e.cat WHEN 'fwdbwd' THEN 'flow' ELSE 'frame' END
        ELSE concat('ph ', e.ph[:16]) END AS kind
FROM parsed;

INSERT INTO trace_other
SELECT kind, count(*) FROM one
WHERE starts_with(kind, 'ph ') OR kind IN ('gpu_user_annotation', 'cuda_event', 'range', 'unreadable') OR ph = 'X'
GROUP BY kind;

INSERT INTO trace_frame SELECT start_ns, end_ns FROM one WHERE kind = 'frame' AND ph = 'X';

INSERT INTO trace_name
SELECT DISTINCT kind, pid, tid, cut(a.name, 200) FROM one WHERE kind IN ('process_name', 'thread_name');

INSERT INTO trace_thread
SELECT DISTINCT thread_id(pid, tid), cut(coalesce(pid, ''), 200), cut(coalesce(tid, ''), 200) FROM one
WHERE kind IN ('operator', 'annotation', 'python', 'runtime', 'driver', 'range', 'mark', 'memory', 'out_of_memory');

INSERT INTO trace_text
SELECT id, text FROM (SELECT DISTINCT text_id(t) AS id, cut(t, 65536) AS text FROM (
    SELECT unnest([name, CASE WHEN kind = 'range' THEN cat END, a."Input Dims", a."Input type", a."Input Strides",
        a."Concrete Inputs", a."Call stack", a.kernel_backend, a.kernel_hash]) AS t
    FROM one WHERE kind IN ('operator', 'annotation', 'python', 'kernel', 'memcpy', 'memset', 'graph', 'runtime',
        'driver', 'range', 'overhead', 'mark')
) WHERE t IS NOT NULL) ANTI JOIN known_text USING (id, text);

INSERT INTO trace_range
SELECT number, CASE kind WHEN 'annotation' THEN 0 WHEN 'range' THEN 1 WHEN 'python' THEN 2 ELSE 3 END, start_ns, end_ns,
    thread_id(pid, tid), text_id(coalesce(name, '')), text_id(CASE WHEN kind = 'range' THEN cat END), a."External id"
FROM one WHERE kind IN ('operator', 'annotation', 'range') OR kind = 'python' AND starts_with(name, 'nn.Module: ');

INSERT INTO trace_operator
SELECT number, a."External id", a."Ev Idx", a."Sequence number", a."Fwd thread id", text_id(a."Input Dims"),
    text_id(a."Input type"), text_id(a."Input Strides"), text_id(a."Concrete Inputs"), a.flops,
    text_id(a."Call stack"), text_id(a.kernel_backend), text_id(a.kernel_hash)
FROM one WHERE kind = 'operator';

INSERT INTO trace_python
SELECT number, start_ns, end_ns, thread_id(pid, tid), text_id(name), a."Python id", a."Python parent id",
    a."Python module id", starts_with(name, 'nn.Module: ')
FROM one WHERE kind = 'python';

INSERT INTO trace_call
SELECT number, start_ns, end_ns, thread_id(pid, tid), text_id(name), a.correlation, kind = 'driver'
FROM one WHERE kind IN ('runtime', 'driver');

INSERT INTO trace_operation
SELECT number, kind, start_ns, end_ns, text_id(coalesce(name, '')), TRY_CAST(a.device AS INTEGER), a.context, a.stream,
    a.correlation, size_of(a.bytes), TRY_CAST(a.grid[1] AS INTEGER), TRY_CAST(a.grid[2] AS INTEGER),
    TRY_CAST(a.grid[3] AS INTEGER), TRY_CAST(a.block[1] AS INTEGER), TRY_CAST(a.block[2] AS INTEGER),
    TRY_CAST(a.block[3] AS INTEGER), TRY_CAST(a."registers per thread" AS INTEGER), size_of(a."shared memory"),
    a."blocks per SM", a."warps per SM", a."est. achieved occupancy %", a."graph id", a."graph node id",
    coalesce(a.cuda_sync_kind, name), a.wait_on_cuda_event_id, a.counters
FROM one WHERE kind IN ('kernel', 'memcpy', 'memset', 'graph', 'sync');

INSERT INTO trace_overhead
SELECT start_ns, end_ns, thread_id(pid, tid), text_id(name) FROM one WHERE kind = 'overhead';

INSERT INTO trace_mark
SELECT number, start_ns, thread_id(pid, tid), text_id(coalesce(name, '')) FROM one WHERE kind = 'mark';

INSERT INTO trace_memory
SELECT number, start_ns, thread_id(pid, tid), kind, TRY_CAST(a."Device Type" AS INTEGER),
    CASE WHEN a."Device Id" >= 0 THEN TRY_CAST(a."Device Id" AS INTEGER) END, a.Addr, size_of(a."tensor bytes"),
    size_of(a."Total Allocated"), size_of(a."Total Reserved")
FROM one WHERE kind IN ('memory', 'out_of_memory');

INSERT INTO trace_collective
SELECT number, kind = 'kernel', cut(a."Collective name", 200), cut(a."Process Group Name", 200),
    cut(a."Process Group Description", 1000), cut(a."Process Group Ranks", 10000), a."Group size", a.Seq,
    a."Comms Id", cut(a.dtype, 200), a."In msg nelems", a."Out msg nelems", cut(a."In split size", 10000),
    cut(a."Out split size", 10000), TRY_CAST(a."Src Rank" AS INTEGER), TRY_CAST(a."Dst Rank" AS INTEGER)
FROM one WHERE kind IN ('kernel', 'operator') AND a."Collective name" IS NOT NULL;

INSERT INTO trace_flow
SELECT cut(id, 100), ph = 'f', thread_id(pid, tid), start_ns FROM one WHERE kind = 'flow' AND ph IN ('s', 'f');
