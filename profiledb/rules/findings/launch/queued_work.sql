-- title: Queued work that waits
-- question: Is the GPU idle although its next operation has been launched?
-- The share of each GPU's active span (first to last operation) that it is idle after the call that launches the next
-- operation has returned, in pieces of at least `least_ns`: shorter ones are normal launch latency. The CPU is not late
-- here. The cause is `event` if the stream received a wait for an event after its previous operation, `graph` if the
-- operation is a CUDA graph among the first two or the first tenth launched, most likely because its first launch
-- uploads it, and `other` if no call shows the reason.
-- needs: kernel or memop or graph_launch
-- needs: api_call
-- includes: finding, idle
-- selects: part
-- once: span, functions, idle
-- parts: launch latency
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_ns = 30000 shorter pieces are normal launch latency
-- column: idle_ns | ns | | idle time of all GPUs with work in a queue
-- column: gaps | count | | gaps with work in a queue
-- column: longest_ns | ns | | longest of these times
-- column: range | name | | range with most of this time; * stands for its last number
-- column: range_pct | % | .1f | share of this time in the range
-- says: The GPU is idle {value} of the time ({idle_ns}) although its next operation is already launched, in {gaps} {gaps|gap|gaps}, {range_pct} of it in {range}.
-- says: The GPU is idle {value} of the time ({idle_ns}) although its next operation is already launched, in {gaps} {gaps|gap|gaps}.
-- clear: The GPU is idle {value} of the time with work in its queue.
-- advice: [event, PyTorch] Record the event that {place|this stream} waits for earlier, or wait for it later (`stream.wait_event`): the timeline shows what another stream or GPU does until then.
-- advice: [event, else] Record the event that {place|this stream} waits for earlier, or wait for it later (`cudaStreamWaitEvent`): the timeline shows what another stream or GPU does until then.
-- advice: [graph] Launch the graph once while warming up, or call `cudaGraphUpload` before the loop: its first launch uploads it.
-- advice: [other] Look on the timeline for what ends together with these gaps: a host function in the stream (`cudaLaunchHostFunc`), work of another process on the same GPU, or another GPU.
-- source: HTA breakdown_analysis (gaps that are neither host wait nor kernel wait, from 30 µs); cause and share of the time: ours
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS idle_ns, 0 AS gaps, NULL AS longest_ns, NULL AS cause, NULL AS range,
    NULL AS range_pct, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (
        FROM selected_idle(2000, NULL) WHERE reason = 'launch latency' AND ns >= $least_ns::BIGINT
    );

WITH piece AS MATERIALIZED (
    SELECT gap_id, device_id, s, e, ns, pre, next.call_id AS call_id FROM selected_idle(2000, NULL)
    WHERE reason = 'launch latency' AND ns >= $least_ns::BIGINT
), wait AS MATERIALIZED (  -- by call, not by type: nsys gives CPU waits for a stream the same type
    SELECT sync.global_pid, device_id, stream_id, sync.correlation_id
    FROM sync JOIN (
        SELECT correlation_id, pid_of(global_tid) AS pid FROM api_call JOIN api_function USING (name_id)
        WHERE function LIKE '%StreamWaitEvent%' AND EXISTS (FROM piece)
    ) AS call ON call.correlation_id = sync.correlation_id AND call.pid = pid_of(sync.global_pid)
), operation AS (  -- of streams that wait for events
    SELECT call_id, global_pid, device_id, stream_id, correlation_id, start_ns FROM kernel
    SEMI JOIN wait USING (global_pid, device_id, stream_id)
    UNION ALL SELECT call_id, global_pid, device_id, stream_id, correlation_id, start_ns FROM memop
    SEMI JOIN wait USING (global_pid, device_id, stream_id)
    UNION ALL SELECT call_id, global_pid, device_id, stream_id, correlation_id, start_ns FROM graph_launch
    SEMI JOIN wait USING (global_pid, device_id, stream_id)
), placed AS (
    SELECT *, lag(correlation_id, 1, 0) OVER (
            PARTITION BY global_pid, device_id, stream_id ORDER BY start_ns, correlation_id
        ) AS before
    FROM operation
), held AS (
    SELECT DISTINCT placed.call_id FROM (FROM placed SEMI JOIN piece USING (call_id)) AS placed
    ASOF JOIN wait ON placed.global_pid = wait.global_pid AND placed.device_id = wait.device_id
        AND placed.stream_id = wait.stream_id AND placed.correlation_id > wait.correlation_id
    WHERE wait.correlation_id > placed.before
), launcher AS ( -- the first two, or tenth: uploads do not recur
    SELECT call_id FROM (
        SELECT call_id, row_number() OVER (ORDER BY start_ns) AS nth, count(*) OVER () AS launches
        FROM api_call SEMI JOIN graph_call USING (call_id)
    ) WHERE nth <= greatest(2, launches // 10)
), explained AS MATERIALIZED (
    SELECT piece.*, CASE WHEN call_id IN (SELECT call_id FROM held) THEN 'event'
        WHEN call_id IN (SELECT call_id FROM launcher SEMI JOIN piece USING (call_id)) THEN 'graph' ELSE 'other'
    END AS cause
    FROM piece
), total AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns, count(*) AS gaps, max(ns) AS longest_ns FROM explained
), main AS (
    SELECT cause FROM explained GROUP BY cause ORDER BY sum(ns) DESC, cause LIMIT 1
), place AS (
    SELECT pattern, sum(ns) AS ns FROM explained LEFT JOIN idle_pattern USING (pre)
    GROUP BY pattern ORDER BY ns DESC, pattern LIMIT 1
), shown AS (
    SELECT ns, s, {
            'name': coalesce(path, 'Outside all ranges'), 'note': cause, 'ns': ns, 'start_ns': s, 'end_ns': e,
            'device': device_id, 'range': path
        } AS piece
    FROM (FROM explained ORDER BY ns DESC, s, device_id LIMIT 10) AS explained
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, total.ns AS saving_ns, total.ns AS idle_ns,
    total.gaps, longest_ns, (SELECT cause FROM main) AS cause, place.pattern AS range,
    100.0 * place.ns / nullif(total.ns, 0) AS range_pct,
    (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total LEFT JOIN place ON true;
