-- title: Data that goes to the GPU and back
-- question: Do the same data leave the GPU and return again and again?
-- The share of the active span (first to last operation of each GPU) in which copies of round trips, or their calls,
-- run and the GPU computes nothing. Copies of one direction in a row are a round trip with the next row of the other
-- direction if at least `copies` of them, with `alike_pct` percent of the bytes of both rows, have the same sizes: the
-- weights of a model that is moved to the GPU for its turn, a state of several arrays; in a program of Numba, which
-- copies each array of NumPy that is an argument of a kernel both ways at its launch, `arguments` suffice. Without
-- these, a copy to the CPU is a round trip with the copy of the same size to the GPU that follows it before any
-- kernel, if both have `least_bytes`: the result of one library that is the input of another (`visits`). The same
-- range must hold both, and its first copy of that size must go to the CPU: a loop that copies input, computes and
-- copies a result of that size begins with input, and its next input belongs to the next step. The CPU's code between
-- both counts, too, if it takes no longer than they do: longer code is work. Fewer than `trips` round trips, visits in
-- fewer ranges, do not count. No capture records the contents of copies: that the data are the same is inferred. In a
-- training it is no cause, because the optimizer may work on the CPU, or activations may wait there.
-- needs: memop
-- includes: finding, work, memory, program
-- selects: part
-- once: span, compute, copies, signs
-- parts: copies, copy call, synchronization, host code (between_ns)
-- level: place
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: copies = 4 fewest copies of a row that go with the next one
-- param: arguments = 2 fewest copies of a row in a program of Numba
-- param: alike_pct = 80 share of the bytes of both rows with the same sizes, percent
-- param: trips = 3 fewest round trips that count
-- param: least_bytes = 1000000 size from which a single copy counts, bytes
-- column: trips | count | | round trips
-- column: copies | count | | copies in them
-- column: bytes | bytes | | bytes of these copies, both ways
-- column: bare_ns | ns | | time in which they or their calls run and the GPU computes nothing
-- column: visits | count | | round trips of single copies to the CPU and back, if any
-- column: between_ns | ns | | time of the CPU's code between these that counts
-- says: Data of the GPU go to the CPU and come back in the same size {visits} {visits|time|times} before any kernel uses them ({copies} {copies|copy|copies}, {bytes}), and the GPU computes nothing meanwhile for {bare_ns} ({value} of the time).
-- says: The same sizes go to the GPU and back {trips} {trips|time|times} ({copies} {copies|copy|copies}, {bytes}), and the GPU computes nothing meanwhile for {bare_ns} ({value} of the time).
-- clear: The GPU waits {value} of the time for data that goes to the GPU and back.
-- advice: [visits, PyTorch, CuPy] Hand arrays over on the GPU in {place|the loop}: `torch.from_dlpack(array)` and `cupy.from_dlpack(tensor)` share the memory; `cupy.asnumpy`, `.cpu()` and `.numpy()` copy it.
-- advice: [else, visits, PyTorch] Leave tensors on the GPU in {place|the loop}: no `.cpu()`, `.numpy()` and `torch.from_numpy` between its operations. Libraries of the GPU share memory by DLPack (`torch.from_dlpack`).
-- advice: [else, PyTorch] Leave on the GPU whatever returns to it (weights, state): no `.to("cpu")` after each use. Parts of a pipeline that fit together stay there together (diffusers: `pipe.to("cuda")` instead of `enable_model_cpu_offload()`).
-- advice: [else, CuPy] Leave arrays on the GPU between operations: no `.get()` and `cupy.asarray` around each.
-- advice: [else, Numba] Leave arrays on the GPU between kernels: `cuda.to_device` once. A NumPy array as an argument is copied both ways at each launch.
-- advice: [else, JAX or XLA] Leave arrays on the GPU between calls: pass `jax.Array`s on, and call `jax.device_get` only for results.
-- advice: [else] Leave on the GPU whatever returns to it, and copy back only results.
-- advice: [not visits, PyTorch] If not all of it fits: lower precision for weights, or copy the next part (`non_blocking=True`) on a stream of its own while this one computes; drop what did not change instead of copying it back.
-- advice: [not visits, not PyTorch] If not all of it fits: copy the next part on a stream of its own while this one computes; drop what did not change instead of copying it back.
-- source: ours
SELECT 0::DOUBLE AS value, 0 AS saving_ns, false AS is_cause, 0 AS trips, 0 AS copies, 0 AS bytes, 0 AS bare_ns,
    NULL AS visits, 0 AS between_ns, NULL AS cause, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (
        SELECT device_id FROM selected_copy WHERE kind = 'memcpy' AND copy_kind IN (1, 2) GROUP BY device_id
        HAVING least(count(*) FILTER (copy_kind = 1), count(*) FILTER (copy_kind = 2))
            >= least($copies::BIGINT, $trips::BIGINT)
    );

WITH copy AS MATERIALIZED (
    SELECT *, copy_kind <> lag(copy_kind, 1, 0) OVER (PARTITION BY device_id ORDER BY start_ns, memop_id) AS turns
    FROM finding_held_copy WHERE kind = 'memcpy' AND copy_kind IN (1, 2)
), placed AS MATERIALIZED (
    SELECT *, count_if(turns) OVER (
            PARTITION BY device_id ORDER BY start_ns, memop_id ROWS UNBOUNDED PRECEDING
        ) AS row_id
    FROM copy
), sized AS (
    SELECT device_id, row_id, bytes, count(*) AS copies FROM placed GROUP BY ALL
), total_of_row AS (
    SELECT device_id, row_id, sum(bytes * copies) AS bytes FROM sized GROUP BY ALL
), fewest AS (
    SELECT CASE WHEN EXISTS (FROM program_sign WHERE trait = 'Numba') THEN $arguments::BIGINT ELSE $copies::BIGINT END
        AS copies
), trip AS MATERIALIZED (
    SELECT alike.* FROM (
        SELECT one.device_id, one.row_id, sum(least(one.copies, other.copies)) AS copies,
            sum(one.bytes * least(one.copies, other.copies)) AS bytes
        FROM sized AS one JOIN sized AS other
            ON other.device_id = one.device_id AND other.row_id = one.row_id + 1 AND other.bytes = one.bytes
        GROUP BY one.device_id, one.row_id
    ) AS alike
    JOIN total_of_row AS one USING (device_id, row_id)
    JOIN total_of_row AS other ON other.device_id = alike.device_id AND other.row_id = alike.row_id + 1
    WHERE alike.copies >= (SELECT copies FROM fewest)
        AND 100 * alike.bytes >= $alike_pct::DOUBLE * greatest(one.bytes, other.bytes)
), spell AS MATERIALIZED (
    SELECT device_id, row_id, any_value(copy_kind) AS copy_kind, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
        sum(end_ns - start_ns) AS moving_ns
    FROM placed WHERE (device_id, row_id) IN (SELECT (device_id, row_id) FROM trip)
        OR (device_id, row_id) IN (SELECT (device_id, row_id + 1) FROM trip) GROUP BY device_id, row_id
), several AS (SELECT count(*) AS trips FROM trip HAVING count(*) >= 2 * $trips::BIGINT - 1
), large AS MATERIALIZED (
    SELECT memop_id, device_id, bytes, copy_kind, start_ns, end_ns, coalesce(process_range, thread_range) AS pre
    FROM selected_memop WHERE kind = 'memcpy' AND copy_kind IN (1, 2) AND bytes >= $least_bytes::BIGINT
        AND NOT EXISTS (FROM several)
), led AS (
    SELECT *, first_value(copy_kind) OVER (
            PARTITION BY device_id, pre, bytes ORDER BY start_ns, memop_id
        ) AS first_kind,
        lead({
            'id': memop_id, 'kind': copy_kind, 'bytes': bytes, 'pre': pre, 'start_ns': start_ns, 'end_ns': end_ns
        }) OVER (PARTITION BY device_id ORDER BY start_ns, memop_id) AS back
    FROM large
), pair AS MATERIALIZED (
    SELECT device_id, pre, memop_id, back.id AS back_id, end_ns, back.start_ns AS back_ns,
        end_ns - start_ns + back.end_ns - back.start_ns AS moving_ns
    FROM led WHERE copy_kind = 2 AND first_kind = 2 AND back.kind = 1 AND back.bytes = bytes AND back.pre = pre
), visit AS MATERIALIZED (  -- the GPU computes nothing after the first copy
    SELECT pair.*, greatest(0, back_ns - pair.end_ns) AS between_ns
    FROM pair ASOF LEFT JOIN finding_compute AS compute
        ON pair.device_id = compute.device_id AND pair.back_ns > compute.start_ns
    WHERE coalesce(compute.end_ns <= pair.end_ns, true)
), seen AS MATERIALIZED (FROM visit WHERE (SELECT count(DISTINCT pre) FROM visit) >= $trips::BIGINT
), moved AS MATERIALIZED (
    SELECT * REPLACE (greatest(start_ns, end_ns - duration_ns - bytes) AS start_ns) FROM placed
    WHERE EXISTS (FROM several) AND (device_id, row_id) IN (SELECT (device_id, row_id) FROM spell)
        OR memop_id IN (SELECT memop_id FROM seen) OR memop_id IN (SELECT back_id FROM seen)
), taken AS (
    SELECT device_id, start_ns, end_ns, 0 AS between_ns FROM moved
    UNION ALL SELECT device_id, end_ns, back_ns, between_ns FROM seen WHERE between_ns <= moving_ns
    UNION ALL
    SELECT one.device_id, one.end_ns, other.start_ns, other.start_ns - one.end_ns
    FROM spell AS one JOIN spell AS other ON other.device_id = one.device_id AND other.row_id = one.row_id + 1
    WHERE one.copy_kind = 2 AND other.start_ns BETWEEN one.end_ns AND one.end_ns + one.moving_ns + other.moving_ns
        AND EXISTS (FROM several)
), code AS (SELECT coalesce(sum(between_ns), 0)::BIGINT AS between_ns FROM taken
), total AS (SELECT count(*) AS copies, coalesce(sum(bytes), 0)::BIGINT AS bytes FROM moved
), lost AS (FROM finding_cover('taken', 'finding_compute')
), shown AS (
    SELECT {
            'name': title, 'ns': end_ns - start_ns, 'bytes': bytes, 'start_ns': start_ns, 'end_ns': end_ns,
            'device': device_id, 'stream': stream_id, 'range': path
        } AS piece
    FROM (FROM moved ORDER BY end_ns - start_ns DESC, start_ns LIMIT 10)
    LEFT JOIN (SELECT memop_id, coalesce(process_range, thread_range) AS pre FROM selected_memop) USING (memop_id)
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT 100.0 * bare_ns / nullif(finding_window.ns, 0) AS value, bare_ns AS saving_ns,
    bare_ns > 0 AND NOT EXISTS (FROM program_sign WHERE trait = 'training') AS is_cause,
    coalesce((SELECT (trips + 1) // 2 FROM several), (SELECT count(*) FROM seen)) AS trips, copies, bytes, bare_ns,
    (SELECT nullif(count(*), 0) FROM seen) AS visits, between_ns,
    CASE WHEN EXISTS (FROM seen) THEN 'visits' END AS cause,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN lost CROSS JOIN code;
