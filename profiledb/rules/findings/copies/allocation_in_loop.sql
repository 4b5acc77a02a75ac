-- title: Allocation in the loop
-- question: Does the program allocate or free GPU memory between its kernels?
-- `cudaMalloc`, `cudaFree` and their kin for pinned memory wait for the GPU. The value is the time in which a thread
-- is in such a call and the GPU computes nothing, as a share of the time, in the second half of the stretch from the
-- first to the last kernel of each GPU: what is allocated while a program starts does not count. The saving counts
-- all of the stretch. Allocation from pools (`cudaMallocAsync`) does not count.
-- needs: kernel or graph_launch
-- needs: api_call
-- includes: finding, work, memory
-- selects: part
-- once: functions, compute
-- parts: allocation, other CUDA call, module loading
-- unit: %
-- fires: above
-- param: threshold = 2 share of the time from which on it is said
-- column: calls | count | | calls in the second half
-- column: function | name | | function that took most of the time
-- column: bare_ns | ns | | time in which they ran and the GPU computed nothing, in the second half
-- says: {calls} {calls|call|calls} such as {function} {calls|holds|hold} the GPU up for {bare_ns}, {value} of the second half of the time.
-- clear: Allocation holds the GPU up for {value} of the second half of the time.
-- advice: -> allocate_once
-- source: CUDA C++ Best Practices (allocation synchronizes); 2 % and the second half are ours
WITH edge AS (
    SELECT device_id, min(start_ns) AS low, max(end_ns) AS high FROM finding_compute GROUP BY device_id
), lane AS (
    SELECT DISTINCT device_id, global_pid FROM selected_kernel
    UNION SELECT DISTINCT device_id, global_pid FROM selected_graph_launch
), call AS MATERIALIZED (
    SELECT device_id, global_tid, function, greatest(start_ns, low) AS start_ns, least(end_ns, high) AS end_ns,
        low + (high - low) // 2 AS middle
    FROM selected_api_call
    JOIN (
        FROM api_function
        WHERE category = 'allocation' AND NOT regexp_matches(function, 'Async|Pool|^cuMem(Address|Map)')
    ) USING (name_id)
    JOIN lane ON pid_of(global_pid) = pid_of(global_tid) JOIN edge USING (device_id)
    WHERE start_ns < high AND end_ns > low
), late AS MATERIALIZED (
    SELECT * REPLACE (greatest(start_ns, middle) AS start_ns) FROM call WHERE end_ns > middle
), lost AS (FROM finding_cover('late', 'finding_compute')
), all_lost AS (FROM finding_cover('call', 'finding_compute')
), half AS (SELECT sum(high - low - (high - low) // 2)::BIGINT AS ns FROM edge
), shown AS (
    SELECT {
            'name': function, 'ns': end_ns - start_ns, 'start_ns': start_ns, 'end_ns': end_ns, 'device': device_id
        } AS piece
    FROM late ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * lost.bare_ns / nullif(half.ns, 0) AS value,
    CASE WHEN half.ns IS NULL THEN 'The selection has no kernels.' END AS unjudged, all_lost.bare_ns AS saving_ns,
    (SELECT count(*) FROM late) AS calls, lost.bare_ns,
    (SELECT function FROM late GROUP BY function ORDER BY sum(end_ns - start_ns) DESC, function LIMIT 1) AS function,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM lost CROSS JOIN all_lost CROSS JOIN half;
