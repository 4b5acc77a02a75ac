-- title: Weights copied to the GPU in each pass
-- question: Do the same weights go to the GPU again and again?
-- The share of each GPU's active span (first to last operation) in which it computes nothing because of copies to it
-- that repeat, as those of weights do that stay on the CPU: at least `copies` copies of `least_bytes` or more, of
-- `sizes` sizes or more, follow each other in the same order `passes` times or more. Nine of ten copies must have the
-- size of the one a pass before, and fewer copies must not repeat exactly, as those of a batch do. Their time counts,
-- that of their calls, and the gaps before and after them, in which the program allocates memory for them, frees it,
-- and runs the code around that. A pass is found by the size that recurs least often. In a training the CPU may change
-- the weights, so nothing counts there. No capture records the contents of copies: that they are the same is inferred.
-- needs: memop
-- includes: finding, idle, work, memory, program
-- selects: part
-- once: span, functions, compute, copies, idle, signs
-- parts: copies, copy call, synchronization, allocation, other CUDA call, host code (host_ns)
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_bytes = 1024 size from which a copy counts, bytes
-- param: copies = 16 fewest copies of a pass
-- param: sizes = 3 fewest sizes of a pass
-- param: passes = 3 fewest passes
-- column: copies | count | | copies of a pass
-- column: bytes | bytes | | bytes of a pass
-- column: passes | count | | passes
-- column: bare_ns | ns | | time of copies, their calls and the gaps around them in which the GPU computes nothing
-- column: host_ns | ns | | code of the CPU in these gaps
-- says: The same {copies} sizes ({bytes}) go to the GPU {passes} times in the same order, as weights do that stay on the CPU. The GPU computes nothing meanwhile for {bare_ns} ({value} of the time).
-- clear: The GPU waits {value} of the time for weights that are copied to it in each pass.
-- advice: [not large, PyTorch] Keep the weights ({bytes}) on the GPU: `model.to("cuda")`, `device_map="cuda"` instead of `"auto"`, no `cpu_offload` and no `enable_sequential_cpu_offload()`.
-- advice: [not large, not PyTorch] Keep the weights ({bytes}) on the GPU: copy them once, before the loop.
-- advice: [large, PyTorch] Make the weights fit: fewer bits, or several GPUs. Until then, copy the next layer on a stream of its own while this one computes (diffusers: `enable_group_offload(..., use_stream=True)`).
-- advice: [large, not PyTorch] Make the weights fit: fewer bits, or several GPUs. Until then, copy the next layer on a stream of its own while this one computes.
-- source: ours
SELECT 0::DOUBLE AS value, 0 AS saving_ns, NULL AS cause, 0 AS copies, 0 AS bytes, 0 AS passes, 0 AS bare_ns,
    0 AS host_ns, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND (EXISTS (FROM program_sign WHERE trait = 'training') OR NOT EXISTS (
        SELECT device_id FROM selected_memop WHERE kind = 'memcpy' AND copy_kind = 1 AND bytes >= $least_bytes::BIGINT
        GROUP BY device_id
        HAVING count(*) >= $copies::BIGINT * $passes::BIGINT AND count(DISTINCT bytes) >= $sizes::BIGINT
    ));

WITH copy AS MATERIALIZED (
    SELECT memop_id, device_id, stream_id, title, bytes, start_ns AS held_ns, copy_start_ns AS start_ns,
        copy_end_ns AS end_ns, row_number() OVER (PARTITION BY device_id ORDER BY copy_start_ns, memop_id) AS place
    FROM finding_held_copy WHERE kind = 'memcpy' AND copy_kind = 1 AND bytes >= $least_bytes::BIGINT
), rare AS (
    SELECT device_id, bytes FROM copy GROUP BY device_id, bytes HAVING count(*) >= $passes::BIGINT
    QUALIFY row_number() OVER (PARTITION BY device_id ORDER BY count(*), bytes DESC) = 1
), apart AS (  -- a pass may hold that size a few times
    SELECT device_id, place - lag(place, times) OVER (PARTITION BY device_id, times ORDER BY place) AS n
    FROM copy SEMI JOIN rare USING (device_id, bytes) CROSS JOIN unnest([1, 2, 3, 4]) AS one (times)
), candidate AS (
    SELECT device_id, n FROM apart WHERE n > 0 GROUP BY device_id, n
    QUALIFY row_number() OVER (PARTITION BY device_id ORDER BY count(*) DESC, n) <= 8
), repeated AS MATERIALIZED (
    SELECT one.device_id, n, avg((later.bytes = one.bytes)::INTEGER) AS alike, count(*) + n AS copies
    FROM candidate JOIN copy AS one ON one.device_id = candidate.device_id
    JOIN copy AS later ON later.device_id = one.device_id AND later.place = one.place + n
    GROUP BY one.device_id, n
), period AS MATERIALIZED (  -- a few copies that repeat without an exception are input
    SELECT device_id, min(n) AS n FROM repeated WHERE n >= $copies::BIGINT AND alike >= 0.9
        AND copies >= $passes::BIGINT * n
        AND device_id NOT IN (SELECT device_id FROM repeated WHERE n < $copies::BIGINT AND alike > 0.999)
    GROUP BY device_id
), pass AS MATERIALIZED (
    SELECT device_id, any_value(n) AS copies, sum(bytes)::BIGINT AS bytes
    FROM copy JOIN period USING (device_id) WHERE place <= n GROUP BY device_id
    HAVING count(DISTINCT bytes) >= $sizes::BIGINT
), sent AS MATERIALIZED (FROM copy SEMI JOIN pass USING (device_id)
), piece AS MATERIALIZED (
    SELECT device_id, s, e, ns, reason FROM selected_idle(2000, NULL)
    WHERE (device_id, start_ns) IN (SELECT (device_id, end_ns) FROM sent)
        OR (device_id, start_ns + duration_ns) IN (SELECT (device_id, start_ns) FROM sent)
), taken AS ( -- noqa: ST03
    SELECT device_id, held_ns AS start_ns, end_ns FROM sent UNION ALL SELECT device_id, s, e FROM piece
), lost AS (FROM finding_cover('taken', 'finding_compute')
), total AS (
    SELECT arg_max(copies, bytes) AS copies, max(bytes) AS bytes,
        (SELECT count(*) FROM sent) // nullif(sum(copies)::BIGINT, 0) AS passes
    FROM pass
), room AS (SELECT max(memory_bytes) AS bytes FROM gpu
), code AS (SELECT coalesce(sum(ns), 0)::BIGINT AS host_ns FROM piece WHERE reason = 'host code'
), shown AS (
    SELECT {
            'name': title, 'ns': end_ns - start_ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id, 'stream': stream_id
        } AS piece
    FROM sent ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * bare_ns / nullif(finding_window.ns, 0) AS value, bare_ns AS saving_ns,
    CASE WHEN 2 * total.bytes > room.bytes THEN 'large' END AS cause,
    coalesce(total.copies, 0) AS copies, coalesce(total.bytes, 0) AS bytes, coalesce(passes, 0) AS passes, bare_ns,
    host_ns, (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN lost CROSS JOIN total CROSS JOIN room CROSS JOIN code;
