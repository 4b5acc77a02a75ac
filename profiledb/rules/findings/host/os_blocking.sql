-- title: Waiting in the operating system
-- question: Does the GPU wait while the CPU is in OS calls?
-- The share of each GPU's active span (first to last operation) that it is idle while the thread that launches the next
-- operation is in an OS call (lock, condition variable, read, poll, sleep ...) outside all CUDA calls: "OS runtime
-- call" in `idle_reasons`. OS calls during data loading count. JAX reads values in another thread: if half of that time
-- lies in gaps that begin or end with a copy of at most `few_bytes` to the host, the program waits for such values.
-- needs: kernel or memop or graph_launch
-- needs: osrt_call
-- includes: finding, idle, waiting, program
-- selects: part
-- once: span, functions, idle, signs
-- parts: OS runtime call, data loading
-- level: place
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: few_bytes = 64 most bytes of a copy to the host that is a value
-- column: idle_ns | ns | | idle time of all GPUs during these calls
-- column: function | name | | function with most of this time
-- column: function_pct | % | .1f | share of this time in the function
-- column: reads | count | | gaps before or after a copy of a few bytes to the host, if the program waits for these
-- column: range | name | | range with most of this time; * stands for its last number
-- column: range_pct | % | .1f | share of this time in the range
-- says: The GPU waits {value} of the time ({idle_ns}) while the CPU waits in {function} for values of the GPU: {reads} gaps begin or end with a copy of a few bytes to the host.
-- says: The GPU waits {value} of the time ({idle_ns}) while the CPU is in calls into the operating system: {function_pct} of it in {function}, {range_pct} in {range}.
-- says: The GPU waits {value} of the time ({idle_ns}) while the CPU is in calls into the operating system, {function_pct} of it in {function}.
-- clear: The GPU waits {value} of the time for calls into the operating system.
-- advice: [compiling] -> compile_once
-- advice: [reads, JAX or XLA] Read values of {part|the loop} every N steps, or after it: `float(x)` and `np.asarray(x)` wait until the GPU has computed `x`, and nothing is launched meanwhile. Keep losses as `jax.Array`s until then, and draw the next batch before you read.
-- advice: [else, reads] Read values of {part|the loop} every N steps, or after it, and prepare the next step before you read.
-- advice: [queue, loader workers] Give the loader more workers, or make a batch cheaper: the launching thread waits in {function}, as threads of Python do that wait for a queue, here most likely for the next batch.
-- advice: [else, lock or queue] Let the other thread run ahead, or avoid the lock in {part|the loop}: the launching thread waits in {function}. The timeline shows which thread holds it.
-- advice: [file] Read files ahead, write them in another thread, and keep small ones in memory: {part|the loop} waits in {function}.
-- advice: [sleep] -> wait_for_event
-- advice: [unmapping, loader workers, not pinned memory] Have another thread copy and free the batches of the workers, which are in shared memory: `DataLoader(pin_memory=True)`. {part|The loop} waits in {function}.
-- advice: [else, unmapping] Reuse large buffers in {part|the loop}, or free them in another thread: it waits in {function}, which returns memory to the system.
-- advice: [other] Move these calls ({function}) out of {part|the loop}, or into another thread.
-- source: ours; gaps as in `idle_reasons` (idea: Nsight Systems OS runtime trace)
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS idle_ns, NULL AS function, NULL AS function_pct, NULL AS reads,
    NULL AS range, NULL AS range_pct, 'other' AS cause, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (FROM selected_idle(2000, NULL) WHERE reason = 'OS runtime call');

WITH piece AS MATERIALIZED (
    SELECT gap_id, device_id, start_ns, start_ns + duration_ns AS end_ns, s, e, ns, pre, function
    FROM selected_idle(2000, NULL) WHERE reason = 'OS runtime call'
), few AS MATERIALIZED (
    SELECT device_id, start_ns, end_ns FROM memop
    WHERE kind = 'memcpy' AND copy_kind = 2 AND bytes <= $few_bytes::BIGINT
        AND EXISTS (FROM program_sign WHERE trait IN ('JAX', 'XLA'))
), reading AS (  -- gaps of those that wait for a value
    SELECT gap_id FROM piece JOIN few ON few.device_id = piece.device_id AND few.end_ns = piece.start_ns
    UNION SELECT gap_id FROM piece JOIN few ON few.device_id = piece.device_id AND few.start_ns = piece.end_ns
), read AS (
    SELECT count(DISTINCT gap_id) AS gaps, coalesce(sum(ns), 0) AS ns FROM piece SEMI JOIN reading USING (gap_id)
), total AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns FROM piece
), main AS (
    SELECT function, sum(ns) AS ns FROM piece GROUP BY function ORDER BY ns DESC, function LIMIT 1
), place AS (
    SELECT pattern, sum(ns) AS ns FROM piece LEFT JOIN idle_pattern USING (pre)
    GROUP BY pattern ORDER BY ns DESC, pattern LIMIT 1
), shown AS (
    SELECT ns, s, {
            'name': function, 'ns': ns, 'start_ns': s, 'end_ns': e, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM piece ORDER BY ns DESC, s LIMIT 10) AS piece
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, total.ns AS saving_ns, total.ns AS idle_ns,
    main.function, 100.0 * main.ns / nullif(total.ns, 0) AS function_pct,
    CASE WHEN 2 * read.ns >= total.ns AND read.gaps > 0 THEN read.gaps END AS reads, place.pattern AS range,
    100.0 * place.ns / nullif(total.ns, 0) AS range_pct,
    CASE WHEN is_compiling(place.pattern) THEN 'compiling' WHEN reads > 0 THEN 'reads'
        WHEN regexp_matches(main.function, 'sleep|yield|poll|select|epoll') THEN 'sleep'
        WHEN regexp_matches(main.function, '^sem_(clock|timed)wait') THEN 'queue'
        WHEN regexp_matches(main.function, 'mutex|cond|sem_|lock|futex|join|barrier|wait') THEN 'lock'
        WHEN regexp_matches(main.function, 'read|write|open|close|stat|seek|sync|flush|mmap|recv|send|get[cs]|put[cs]')
            THEN 'file'
        WHEN regexp_matches(main.function, '^(munmap|madvise)') THEN 'unmapping'
        ELSE 'other' END AS cause,
    (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN read LEFT JOIN main ON true LEFT JOIN place ON true;
