-- Building blocks of the idle time analyses: the activity of a CPU thread at any moment, and the gaps of GPUs.
-- includes: selection, memory, ranges

-- Changes of the innermost open range of these threads, one row per thread and moment: kind `own` has the number `pre`
-- of the thread's own range from then on, kind `driver` that of the thread that drives it; 0 without one. `threads` is
-- a list of thread ids.
CREATE OR REPLACE MACRO range_edge(threads, low, high) AS TABLE
WITH asked AS MATERIALIZED (SELECT unnest(threads) AS tid
), owner AS (
    SELECT tid, tid AS range_tid, 'own' AS kind FROM asked
    UNION ALL SELECT tid, driver_tid, 'driver' FROM asked JOIN thread_driver ON global_tid = tid
), open AS (
    SELECT owner.tid, kind, range.start_ns AS s, range.end_ns AS e, range.pre, coalesce(up.pre, 0) AS outer_pre
    FROM owner JOIN range ON range.global_tid = range_tid
    LEFT JOIN (SELECT range_id, pre FROM range) AS up ON up.range_id = range.parent_id
    WHERE range.end_global_tid IS NULL AND range.end_ns > range.start_ns
        AND range.start_ns < high AND range.end_ns > low
)
-- of the ranges that start at a moment the innermost, else the one around those that end
SELECT tid, kind, t, coalesce(max(begun), arg_min(ended, pre)) AS pre
FROM (
    SELECT tid, kind, s AS t, pre AS begun, NULL AS ended, pre FROM open
    UNION ALL SELECT tid, kind, e, NULL, outer_pre, pre FROM open
)
GROUP BY tid, kind, t;

-- Time in which earlier work may still run that was launched before the capture and is missing from it: at the start of
-- the capture, from the launch of the first operation of a stream (`launched_ns`) until it starts (`b`), over 1 ms
-- later.
CREATE OR REPLACE VIEW earlier_work AS
WITH lane AS (
    SELECT device_id, min(start_ns) AS b, arg_min(call_id, start_ns) AS call_id
    FROM (
        SELECT device_id, stream_id, start_ns, call_id FROM kernel
        UNION ALL SELECT device_id, stream_id, start_ns, call_id FROM memop
        UNION ALL SELECT device_id, stream_id, start_ns, call_id FROM graph_launch WHERE has_rows('graph_launch')
    ) GROUP BY device_id, stream_id
)
SELECT device_id, call.end_ns AS launched_ns, b
FROM (SELECT *, min(b) OVER (PARTITION BY device_id) AS first_ns FROM lane) JOIN api_call AS call USING (call_id)
WHERE b > first_ns AND b - call.end_ns > 1000000 AND 100 * (call.end_ns - first_ns) <= b - call.end_ns;

CREATE OR REPLACE MACRO has_earlier_work() AS EXISTS (FROM earlier_work);

-- Stretches of selected_active without selected_busy, of at least `min_ns`, from `a` to `b`; `is_earlier` if
-- `earlier_work` may run for 90 % or more of one.
CREATE OR REPLACE MACRO selected_pause(min_ns) AS TABLE
WITH stretch AS MATERIALIZED (SELECT device_id, start_ns, end_ns FROM selected_active
), edge AS (SELECT device_id, min(start_ns) AS low, max(end_ns) AS high FROM stretch GROUP BY device_id
), taken AS (
    SELECT device_id, start_ns, end_ns FROM selected_busy
    UNION ALL
    SELECT device_id, end_ns, lead(start_ns, 1, end_ns) OVER (PARTITION BY device_id ORDER BY start_ns) FROM stretch
), hole AS (
    SELECT device_id, least(start_ns, high) AS b, greatest(low, coalesce(max(end_ns) OVER (
            PARTITION BY device_id ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), low)) AS a
    FROM taken JOIN edge USING (device_id)
)
SELECT device_id, a, b, coalesce(list_bool_or(list_transform(works, LAMBDA one:
    b <= one.b AND 10 * (b - greatest(a, one.launched_ns)) >= 9 * (b - a))), false) AS is_earlier
FROM hole LEFT JOIN (
    SELECT device_id, list({'launched_ns': launched_ns, 'b': b}) AS works FROM earlier_work
    WHERE has_earlier_work() GROUP BY device_id
) USING (device_id) WHERE b > a AND b - a >= min_ns;

-- The gaps of each GPU: the stretches in which it is idle.
CREATE OR REPLACE MACRO selected_hole(min_ns) AS TABLE
SELECT device_id, a, b FROM selected_pause(min_ns) WHERE NOT is_earlier;

-- These gaps, numbered from the longest on. `next` is the operation that follows, inside the selection or not.
CREATE OR REPLACE MACRO selected_gap(min_ns) AS TABLE
WITH gap AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY b - a DESC, a, device_id) AS gap_id, device_id, a, b FROM selected_hole(min_ns)
), operation AS (
    SELECT device_id, start_ns, call_id, name_id, NULL AS operation, process_range FROM kernel
    UNION ALL SELECT device_id, start_ns, call_id, NULL, operation, process_range FROM memop
    UNION ALL SELECT device_id, start_ns, call_id, NULL, 'CUDA graph', process_range FROM graph_launch
    WHERE has_rows('graph_launch')
), met AS MATERIALIZED (  -- a gap ends at the start of an operation, unless a selection cuts it
    SELECT gap_id, device_id, b AS start_ns FROM gap
    SEMI JOIN operation ON gap.device_id = operation.device_id AND b = operation.start_ns
), cut AS MATERIALIZED (FROM gap ANTI JOIN met USING (gap_id)
), followed AS (
    FROM met
    UNION ALL
    SELECT gap_id, later.device_id, later.start_ns
    FROM cut ASOF JOIN (SELECT device_id, start_ns FROM operation WHERE EXISTS (FROM cut)) AS later
        ON cut.device_id = later.device_id AND b <= later.start_ns
), follower AS (
    SELECT gap_id, arg_min({call_id: call_id, process_range: process_range, name_id: name_id, operation: operation},
            coalesce(call_id, 0)) AS next
    FROM followed JOIN operation USING (device_id, start_ns) GROUP BY gap_id
)
SELECT gap.*, next FROM gap LEFT JOIN follower USING (gap_id);

-- CPU activity in the gaps: each gap in pieces from `s` to `e` with one reason, function and range, of the thread that
-- launched the next operation. Until that call returned, it is the call that the thread was in, or host code outside
-- all calls; waits for a thread that launches meanwhile count as host code. The rest of the gap is launch latency, or a
-- wait for other work. `pre` is the range that the thread had open, 0 without one. If the operation has no known call,
-- the reason is "unknown", or "page migration" if it moves pages of unified memory, which no call launches.
CREATE OR REPLACE MACRO selected_idle(min_ns, longest) AS TABLE
WITH host AS MATERIALIZED (
    SELECT gap.*, global_tid AS tid, greatest(a, least(b, end_ns)) AS cut
    FROM selected_gap(min_ns) AS gap
    LEFT JOIN (SELECT call_id, global_tid, end_ns FROM api_call) AS launch ON launch.call_id = next.call_id
    WHERE longest IS NULL OR gap_id <= longest
), watched AS (SELECT DISTINCT tid, device_id FROM host WHERE tid IS NOT NULL
), edges AS MATERIALIZED (SELECT greatest(1, (max(b) - min(a)) // 65536) AS width FROM host
), near AS MATERIALIZED (  -- time slots that any gap touches: few, because gaps of a GPU do not overlap
    SELECT DISTINCT unnest(range(a // width, b // width + 1)) AS slot FROM host CROSS JOIN edges
), call AS (  -- may reach into a gap: anything shorter than a slot touches at most two
    SELECT tid, start_ns, end_ns, name_id, source
    FROM (
        SELECT global_tid AS tid, start_ns, end_ns, name_id, 0 AS source FROM api_call
        UNION ALL SELECT global_tid, start_ns, end_ns, name_id, 1 FROM osrt_call WHERE event_class = 27
    ) CROSS JOIN edges
    WHERE start_ns // width IN (SELECT slot FROM near) OR end_ns // width IN (SELECT slot FROM near)
        OR end_ns - start_ns >= width
), met AS (  -- calls that reach into a gap: gaps of a GPU do not overlap, so the last one to start before decides
    SELECT DISTINCT call.tid, start_ns, end_ns, name_id, source
    FROM (SELECT call.*, device_id FROM call JOIN watched USING (tid)) AS call
    ASOF JOIN host ON host.tid = call.tid AND host.device_id = call.device_id AND call.end_ns > host.a
    WHERE b > start_ns
), lock AS MATERIALIZED (
    SELECT met.* FROM met JOIN string ON string_id = name_id
    WHERE source = 1 AND regexp_matches(value, 'pthread_cond|sem_(timed|clock)?wait|futex')
), handed AS (  -- a wait while another thread of the process launches, as in PyTorch's backward, is a hand-over
    SELECT lock.tid, lock.start_ns, lock.name_id, 1 AS source
    FROM lock ASOF JOIN (
        SELECT pid_of(global_tid) AS pid, start_ns AS t FROM api_call JOIN api_function USING (name_id)
        WHERE category = 'launch' AND EXISTS (FROM lock)
    ) AS launch ON launch.pid = pid_of(lock.tid) AND lock.end_ns > launch.t
    WHERE launch.t > lock.start_ns
), outermost AS (  -- a nested call counts with the outer one; if two cross, the first continues to its end
    SELECT tid, greatest(start_ns, coalesce(max(end_ns) OVER (
            PARTITION BY tid ORDER BY start_ns, end_ns DESC, source, name_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), start_ns)) AS s, end_ns AS e, name_id, source
    FROM met ANTI JOIN handed USING (tid, start_ns, name_id, source) QUALIFY e > s
), changed AS MATERIALIZED (
    SELECT tid, kind, t, pre, t // width AS slot
    FROM range_edge((SELECT list(DISTINCT tid) FROM host), (SELECT min(a) FROM host), (SELECT max(b) FROM host))
    CROSS JOIN edges
), edge AS MATERIALIZED (
    SELECT tid, 'call' AS kind, s AS t, name_id, source, NULL AS pre, true AS is_near FROM outermost
    UNION ALL
    SELECT tid, 'call', e, NULL, NULL, NULL, true FROM outermost
    QUALIFY lead(s) OVER (PARTITION BY tid ORDER BY s) IS DISTINCT FROM e
    UNION ALL
    SELECT tid, kind, t, NULL, NULL, pre, true FROM changed WHERE slot IN (SELECT slot FROM near)
    UNION ALL  -- the last change in each slot that no gap touches, which may hold until a gap starts
    SELECT tid, kind, max(t), NULL, NULL, arg_max(pre, t), false FROM changed ANTI JOIN near USING (slot)
    GROUP BY tid, kind, slot
), at_edge AS (  -- the state at the start of a gap, and changes in it: few rows, however long the capture is
    SELECT gap_id, a AS s, host.kind, name_id, source, pre
    FROM (SELECT host.*, unnest(['call', 'own', 'driver']) AS kind FROM host WHERE tid IS NOT NULL) AS host
    ASOF LEFT JOIN edge ON edge.tid = host.tid AND edge.kind = host.kind AND host.a >= edge.t
    UNION ALL
    SELECT gap_id, t, kind, name_id, source, pre
    FROM (SELECT edge.*, device_id FROM edge JOIN watched USING (tid) WHERE is_near) AS edge
    ASOF JOIN host ON host.tid = edge.tid AND host.device_id = edge.device_id AND edge.t > host.a WHERE t < b
), moment AS (
    SELECT gap_id, s, any_value({name_id: name_id, source: source}) FILTER (kind = 'call') AS call,
        any_value(coalesce(pre, 0)) FILTER (kind = 'own') AS own_pre,
        any_value(coalesce(pre, 0)) FILTER (kind = 'driver') AS driver_pre
    FROM at_edge GROUP BY gap_id, s
), slice AS (
    SELECT gap_id, s, last_value(call IGNORE NULLS) OVER until_here AS call,
        coalesce(nullif(last_value(own_pre IGNORE NULLS) OVER until_here, 0),
            last_value(driver_pre IGNORE NULLS) OVER until_here) AS pre
    FROM moment WINDOW until_here AS (PARTITION BY gap_id ORDER BY s)
), part AS (
    SELECT gap_id, call, pre, cut, s,
        lead(s, 1, b) OVER (PARTITION BY gap_id ORDER BY s) AS e
    FROM slice JOIN host USING (gap_id)
), piece AS (
    SELECT gap_id, pre, call.source, call.name_id, s, least(e, cut) AS e, false AS launched FROM part WHERE s < cut
    UNION ALL
    SELECT gap_id, pre, NULL, NULL, greatest(s, cut), e, true FROM part WHERE e > cut
    UNION ALL
    SELECT gap_id, 0, NULL, NULL, a, b, NULL FROM host WHERE tid IS NULL
), named AS (  -- names are few and pieces many
    SELECT source, name_id, function_name(value) AS function, CASE WHEN source = 1 THEN 'OS runtime call'
        WHEN category = 'launch' THEN 'launch call' WHEN category IN ('blocking copy', 'queued copy') THEN 'copy call'
        WHEN category = 'other' THEN 'other CUDA call'
        ELSE category END AS reason
    FROM (SELECT DISTINCT source, name_id FROM piece WHERE source IS NOT NULL)
    LEFT JOIN string ON string_id = name_id
    LEFT JOIN api_function USING (name_id)
)
SELECT gap_id, device_id, a AS start_ns, b - a AS duration_ns, next, tid, pre, s, e, e - s AS ns, function,
    CASE WHEN launched IS NULL THEN CASE WHEN next.operation ILIKE '%unified%' THEN 'page migration' ELSE 'unknown' END
        WHEN launched THEN 'launch latency'
        WHEN piece.source IS NULL THEN 'host code' ELSE reason END AS reason
FROM piece JOIN host USING (gap_id)
LEFT JOIN named ON named.source = piece.source AND named.name_id IS NOT DISTINCT FROM piece.name_id
WHERE e > s;

-- The functions that launch CUDA graphs, if most kernels are nodes of graphs: tracing each node makes them slow.
CREATE OR REPLACE MACRO traced_launch() AS TABLE
SELECT DISTINCT function FROM api_function
CROSS JOIN (SELECT 2 * count(*) FILTER (graph_node_id > 0) > count(*) AS mostly FROM selected_kernel)
WHERE call_kind = 'graph launch' AND mostly;

-- Paths of ranges with a star for the last number of each name, which merges step_0/load and step_1/load: `pattern`.
CREATE OR REPLACE VIEW path_pattern AS
WITH RECURSIVE titled AS MATERIALIZED (FROM range_title
), tree AS (
    SELECT path_id, 0 AS level, title AS pattern FROM titled WHERE parent_id IS NULL
    UNION ALL
    SELECT titled.path_id, level + 1, concat(pattern, '/', title)
    FROM tree JOIN titled ON titled.parent_id = tree.path_id
)
FROM tree;

-- The pattern of each range by its number.
CREATE OR REPLACE VIEW idle_pattern AS SELECT pre, pattern FROM range JOIN path_pattern USING (path_id);
