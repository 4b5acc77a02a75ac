-- title: Graphs captured in the loop
-- question: Does the program capture CUDA graphs again and again?
-- The share of each GPU's active span (first to last operation) that it is idle while its launching thread captures a
-- graph or destroys one. A capture counts to the end of the instantiation, and from the call that begins it, or from
-- the synchronization before it if nothing was launched in between. `least` captures or more must begin in the second
-- half of the span: programs capture their graphs at the start.
-- needs: kernel or graph_launch
-- needs: api_call
-- includes: finding, idle, work
-- selects: part
-- once: span, functions, idle
-- parts: host code, other CUDA call, launch call, synchronization, allocation, OS runtime call
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least = 3 fewest captures in the second half
-- column: captures | count | | captures that begin in the span
-- column: idle_ns | ns | | idle time of all GPUs in them
-- says: The program captures a CUDA graph {captures} times in its loop: meanwhile the GPU waits {idle_ns} ({value} of the time).
-- clear: The GPU waits {value} of the time for graphs that the loop captures.
-- advice: [PyTorch] Capture the graph once before the loop. In the loop, copy the new input into the tensor that it reads (`static_input.copy_(batch)`), and call `graph.replay()`; for sizes that change, keep a graph for each of a few sizes.
-- advice: [else] Instantiate the graph once before the loop, and launch it again with new data in the same buffers; `cudaGraphExecUpdate` takes changed parameters without another instantiation.
-- source: ours; CUDA C++ Programming Guide (graph update). Pair on H100: a graph captured for each batch
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS idle_ns, 0 AS captures, NULL AS evidence
FROM selected_api_call
JOIN (FROM api_function WHERE function LIKE '%StreamBeginCapture%') USING (name_id)
HAVING count(*) = 0;

WITH call AS MATERIALIZED (
    SELECT global_tid AS tid, start_ns AS s, end_ns AS e, CASE
            WHEN function LIKE '%StreamBeginCapture%' THEN 'begin'
            WHEN function LIKE '%StreamEndCapture%' THEN 'end'
            WHEN function LIKE '%GraphInstantiate%' THEN 'made'
            WHEN regexp_matches(function, 'Graph(Exec)?Destroy') THEN 'gone'
            ELSE category
        END AS kind
    FROM api_call JOIN api_function USING (name_id)
    WHERE category IN ('launch', 'synchronization')
        OR regexp_matches(function, 'Stream(Begin|End)Capture|GraphInstantiate|Graph(Exec)?Destroy')
), placed AS (
    SELECT *, max(s) FILTER (kind = 'launch') OVER before AS launched,
        max(s) FILTER (kind = 'synchronization') OVER before AS synced,
        min(s) FILTER (kind = 'begin') OVER later AS again, min(e) FILTER (kind = 'end') OVER later AS ended,
        min(e) FILTER (kind = 'made') OVER later AS made
    FROM call
    WINDOW before AS (PARTITION BY tid ORDER BY s, e DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
        later AS (PARTITION BY tid ORDER BY s, e DESC ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
), capture AS MATERIALIZED (
    SELECT tid, s AS began, CASE WHEN synced > coalesce(launched, 0) THEN synced ELSE s END AS s,
        CASE WHEN made < coalesce(again, made + 1) THEN made ELSE coalesce(ended, e) END AS e
    FROM placed CROSS JOIN finding_window
    WHERE kind = 'begin' AND s BETWEEN finding_window.start_ns AND finding_window.end_ns
), capture_count AS (
    SELECT count(*) AS captures, count(*) FILTER (began > start_ns + (end_ns - start_ns) // 2) AS late
    FROM capture CROSS JOIN finding_window
), stretch AS MATERIALIZED (
    SELECT tid, s, e FROM (
        SELECT tid, s, e FROM capture UNION ALL SELECT tid, s, e FROM call WHERE kind = 'gone'
    )
    QUALIFY e > coalesce(max(e) OVER (
        PARTITION BY tid ORDER BY s, e DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0)
), piece AS MATERIALIZED (
    SELECT stretch.tid, stretch.s, stretch.e, device_id, least(idle.e, stretch.e) - idle.s AS ns, pre
    FROM (SELECT tid, device_id, s, e, pre FROM selected_idle(2000, NULL) WHERE tid IS NOT NULL) AS idle
    ASOF JOIN stretch ON stretch.tid = idle.tid AND idle.s >= stretch.s
    WHERE idle.s < stretch.e AND (SELECT late FROM capture_count) >= $least::INTEGER
), total AS (SELECT coalesce(sum(ns), 0)::BIGINT AS ns FROM piece
), shown AS (
    SELECT sum(ns)::BIGINT AS ns, s, {
            'ns': sum(ns)::BIGINT, 'start_ns': s, 'end_ns': e, 'device': device_id, 'range': any_value(path)
        } AS piece
    FROM piece LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
    GROUP BY s, e, device_id ORDER BY 1 DESC, s LIMIT 10
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, total.ns AS saving_ns, total.ns AS idle_ns, captures,
    (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN capture_count;
