-- title: Collectives that are too small
-- question: Do many small collectives run instead of a few large ones?
-- The time that collectives of `bucket_bytes` would save, as a share of the active span (first to last operation of
-- each GPU): the shortest time of one for each that they replace (without sizes, seven of eight), at most the time in
-- which they run without compute; and the CPU's time in NCCL's ranges around them, at most the time in which the GPU is
-- idle. A collective's latency does not depend on its size. All-reduces, all-gathers and
-- reduce-scatters of NCCL count per GPU and operation if at least half could be merged: they start during compute, or
-- after the previous one without compute in between, as buckets of gradients do and those of tensor parallelism, whose
-- results the next kernel needs, do not. They are small up to a median of `most_bytes`, or of `most_ns` if no size is
-- known, and many if each step has `least` or more, or without steps eight times as many.
-- needs: kernel
-- includes: finding, work, nccl, waiting, idle
-- selects: part
-- once: span, compute, communication, finding_steps, functions, idle, messages
-- parts: communication, host code (cpu_ns)
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: most_bytes = 4000000 largest median size of small collectives
-- param: most_ns = 100000 largest median time of small collectives, if sizes are not known
-- param: least = 8 fewest collectives per step
-- param: bucket_bytes = 25000000 size of large enough collectives
-- column: kernel | name | | most frequent of these kernels
-- column: collectives | count | | number of these kernels
-- column: step_collectives | count | | collectives per step, if steps are known
-- column: each_bytes | bytes | .1f | median size, if known
-- column: each_ns | ns | .1f | median time
-- column: bare_ns | ns | | time in which they run without compute
-- column: cpu_ns | ns | | time of the CPU in those that larger ones would replace, as far as the GPU is idle
-- says: Each step runs {step_collectives} {kernel} of {each_bytes} and {each_ns} each (medians); for {bare_ns} the GPU computes nothing meanwhile.
-- says: Each step runs {step_collectives} {kernel} of {each_ns} each (median); for {bare_ns} the GPU computes nothing meanwhile.
-- says: {collectives} {kernel} take {each_ns} each (median); for {bare_ns} the GPU computes nothing meanwhile.
-- clear: Small collectives cost {value} of the time more than large ones.
-- advice: [buckets, DDP or own all-reduce, PyTorch, not tensor parallel] Raise `bucket_cap_mb` of `DistributedDataParallel` (25 by default), and reduce gradients in buckets, not one parameter after the other.
-- advice: [buckets, else, PyTorch] Reduce gradients in buckets of 25 MB or more, not one parameter after the other.
-- advice: [shards, PyTorch] Wrap larger units with FSDP, whole blocks instead of single layers; DeepSpeed: raise `allgather_bucket_size` and `reduce_bucket_size`.
-- advice: [not PyTorch] Join buffers before the collective, or put several into one `ncclGroupStart` and `ncclGroupEnd`.
-- change: merged_collectives=8
-- source: PyTorch DDP (25 MB buckets), NCCL (latency and bandwidth of collectives, nccl-tests); thresholds: ours
SELECT NULL AS value, 'The selection has no all-reduces, all-gathers or reduce-scatters of NCCL.' AS unjudged,
    0 AS saving_ns, 0 AS bare_ns, 0 AS cpu_ns, NULL AS cause, 0 AS collectives, NULL AS step_collectives,
    NULL AS each_bytes, NULL AS each_ns, NULL AS kernel, NULL AS evidence
FROM finding_communication HAVING count(*) = 0;

WITH candidate AS (
    SELECT one.*, nccl_operation(short) AS operation, coalesce(nccl_message.bytes, traced.size_bytes) AS bytes, cpu_ns,
        lag(one.end_ns) OVER (PARTITION BY one.device_id, nccl_operation(short) ORDER BY one.start_ns) AS before_ns
    FROM finding_communication AS one LEFT JOIN nccl_message USING (kernel_id)
    LEFT JOIN (SELECT kernel_id, size_bytes FROM nccl_collective) AS traced USING (kernel_id)
    LEFT JOIN (
        SELECT pre, end_ns - start_ns AS cpu_ns FROM range JOIN range_path USING (path_id)
        WHERE regexp_matches(path, '(^|/)NCCL:nccl\w+$')
    ) ON pre = process_range
    WHERE starts_with(short, 'nccl') AND nccl_operation(short) IN ('AllReduce', 'AllGather', 'ReduceScatter')
), met AS (  -- the last compute that started before
    SELECT candidate.*, compute.start_ns IS NULL OR compute.end_ns > candidate.start_ns
            OR compute.end_ns <= coalesce(before_ns, compute.end_ns) AS free
    FROM candidate ASOF LEFT JOIN finding_compute AS compute
        ON candidate.device_id = compute.device_id AND candidate.start_ns > compute.start_ns
), stepped AS (SELECT nullif(count(DISTINCT number), 0) AS steps FROM finding_step
), kind AS (
    SELECT device_id, operation, count(*) AS n, median(bytes) AS each_bytes, median(end_ns - start_ns) AS each_ns,
        min(end_ns - start_ns) AS latency_ns, median(cpu_ns) AS cpu_ns, any_value(steps) AS steps,
        count(*) - CASE WHEN count(bytes) = count(*) THEN least(count(*), ceil(sum(bytes) / $bucket_bytes::DOUBLE))
            ELSE ceil(count(*) / 8) END AS gone
    FROM met CROSS JOIN stepped GROUP BY device_id, operation
    HAVING 2 * count(*) FILTER (free) >= count(*) AND CASE WHEN count(bytes) = count(*)
            THEN median(bytes) <= $most_bytes::DOUBLE ELSE median(end_ns - start_ns) <= $most_ns::DOUBLE END
        AND count(*) >= $least::INTEGER * coalesce(any_value(steps), 8)
), small AS MATERIALIZED (SELECT met.* FROM met SEMI JOIN kind USING (device_id, operation)
), taken AS (FROM finding_cover('small', 'finding_compute')
), total AS (
    SELECT *, gpu_ns + cpu_ns AS ns FROM (
        SELECT bare_ns, least(coalesce(sum(gone * latency_ns), 0)::BIGINT, bare_ns) AS gpu_ns,
            least(coalesce(sum(gone * cpu_ns), 0)::BIGINT, any_value(idle_ns)) AS cpu_ns
        FROM taken CROSS JOIN (
            SELECT coalesce(sum(ns), 0)::BIGINT AS idle_ns FROM selected_idle(2000, NULL)
        ) LEFT JOIN kind ON true GROUP BY bare_ns
    )
), main AS (
    SELECT *, CASE operation WHEN 'AllReduce' THEN 'buckets' ELSE 'shards' END AS cause FROM kind
    ORDER BY gone * latency_ns DESC, operation, device_id LIMIT 1
), shown AS (
    SELECT {
            'name': short, 'ns': end_ns - start_ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM small ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN EXISTS (FROM candidate) THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    'The selection has no all-reduces, all-gathers or reduce-scatters of NCCL.' AS unjudged,
    total.ns AS saving_ns, bare_ns, total.cpu_ns, cause, (SELECT count(*) FROM small) AS collectives,
    (main.n // main.steps)::BIGINT AS step_collectives, each_bytes, each_ns,
    (
        SELECT short FROM small JOIN main USING (device_id, operation) GROUP BY short
        ORDER BY count(*) DESC, short LIMIT 1
    ) AS kernel,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total LEFT JOIN main ON true;
