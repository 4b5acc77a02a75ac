-- title: Overhead of the profiler
-- question: Did the profiler itself take much of the time?
-- The time of the profiler's own work as it reports it (flushes, allocations of buffers, start-up), as a share of the
-- span from the first to the last operation of the selection. Overlaps count once. Overhead within calls is not
-- included.
-- needs: kernel or memop or graph_launch
-- includes: finding, work
-- selects: part
-- once: span
-- unit: %
-- fires: above
-- weight: warning
-- param: threshold = 5 fires at or above this share of the span
-- column: spent_ns | ns | | time of the profiler
-- column: name | name | | activity with most of it
-- says: The profiler itself took {spent_ns} of the selected time ({value}), mostly for {name}: the program runs faster without it.
-- clear: The profiler itself took {value} of the selected time.
-- advice: [nsys] Trace less: `--trace=cuda,nvtx`, no `--cuda-memory-usage`, no back traces, a lower `--sampling-frequency`; let the program warm up under the profiler.
-- advice: [nsys] Capture only a part: `--capture-range=cudaProfilerApi` or `--capture-range=nvtx`. The profiler then flushes outside the steps.
-- advice: [trace, PyTorch] Record less: `torch.profiler.profile(record_shapes=False, profile_memory=False, with_stack=False)`, and let the profiler start up before the steps that count: `torch.profiler.schedule(wait=1, warmup=1, active=3)`.
-- advice: [trace, else] Record less, and let the profiler start up before the steps that count.
-- source: nsys PROFILER_OVERHEAD; 5 %: ours
SELECT NULL AS value, 'The profiler says nothing of its own time in this report.' AS unjudged, 0 AS spent_ns,
    CASE WHEN has_rows('operator') THEN 'trace' ELSE 'nsys' END AS cause, NULL AS name, NULL AS evidence
FROM finding_window WHERE ns IS NOT NULL AND NOT has_rows('profiler_overhead');

WITH span AS (
    SELECT min(low) AS low, max(high) AS high FROM finding_edge
), spent AS MATERIALIZED (
    SELECT 0 AS device_id, greatest(start_ns, low) AS start_ns, least(end_ns, high) AS end_ns,
        coalesce(value, 'unknown') AS name
    FROM profiler_overhead CROSS JOIN span LEFT JOIN string ON string_id = name_id
    WHERE start_ns < high AND end_ns > low
), total AS (SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns FROM finding_union('spent')
), shown AS (
    SELECT {'name': name, 'ns': end_ns - start_ns, 'start_ns': start_ns, 'end_ns': end_ns} AS piece
    FROM spent ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN has_rows('profiler_overhead') THEN 100.0 * total.ns / nullif(high - low, 0) END AS value,
    'The profiler says nothing of its own time in this report.' AS unjudged, total.ns AS spent_ns,
    CASE WHEN has_rows('operator') THEN 'trace' ELSE 'nsys' END AS cause,
    (SELECT name FROM spent GROUP BY name ORDER BY sum(end_ns - start_ns) DESC, name LIMIT 1) AS name,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM span CROSS JOIN total WHERE high IS NOT NULL;
