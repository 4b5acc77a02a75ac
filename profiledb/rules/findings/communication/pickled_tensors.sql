-- title: Tensors pickled for collectives
-- question: Do collectives of Python objects carry tensors of the GPU?
-- The share of each GPU's active span (first to last operation) in which it computes nothing while tensors become bytes
-- for collectives of objects, such as PyTorch's `all_gather_object`, and become tensors again. A copy to the host of
-- `least_bytes` or more is such a message if the next one goes to the GPU with at most `extra_bytes` more: the tensor
-- with the header of a pickle. Both copies count, all others of the larger size, their calls, and the code in gaps
-- that begin or end with one of them. Fewer than `least_messages`, or a program without collectives, do not count.
-- The trace has no contents: that the bytes are pickles is inferred from their number.
-- needs: memop
-- includes: finding, idle, work, memory
-- selects: part
-- once: span, functions, compute, communication, copies, idle
-- parts: copies, copy call, synchronization, OS runtime call, host code (code_ns)
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_bytes = 1000000 size from which a copy counts, bytes
-- param: extra_bytes = 4096 most bytes by which a pickle is larger than its tensor
-- param: least_messages = 3 fewest messages that count
-- column: messages | count | | tensors that go to the CPU and come back as bytes
-- column: bytes | bytes | | bytes of all copies that count
-- column: bare_ns | ns | | time of the copies and the code in which the GPU computes nothing
-- column: code_ns | ns | | time of the code, which pickles and unpickles
-- column: range | name | | range with most of the code; * stands for its last number
-- says: Collectives of Python objects carry {messages} tensors of the GPU as pickles ({bytes} of copies): for {bare_ns} ({value} of the time) the GPU computes nothing meanwhile, most of it in {range}.
-- says: Collectives of Python objects carry {messages} tensors of the GPU as pickles ({bytes} of copies): for {bare_ns} ({value} of the time) the GPU computes nothing meanwhile.
-- clear: The GPU waits {value} of the time for tensors that are pickled.
-- advice: Gather tensors as tensors in {range|the loop}: `dist.all_gather_into_tensor(whole, own)`, `dist.gather`, `dist.broadcast`. `all_gather_object` and its like pickle them, which takes them to the CPU, to the GPU as bytes, and back again.
-- advice: If their shapes differ between ranks, gather the shapes first, then tensors that are padded to the largest.
-- source: ours; PyTorch, Distributed communication package (collectives of objects move them to the GPU and serialize them)
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS messages, 0 AS bytes, 0 AS bare_ns, 0 AS code_ns, NULL AS range,
    NULL AS evidence
FROM finding_window
WHERE ns > 0 AND (
        NOT EXISTS (FROM finding_communication)
        OR NOT EXISTS (FROM selected_copy WHERE kind = 'memcpy' AND copy_kind = 2 AND bytes >= $least_bytes::BIGINT)
    );

WITH copy AS MATERIALIZED (
    SELECT memop_id, device_id, bytes, copy_kind, start_ns AS held_ns, copy_start_ns AS start_ns, copy_end_ns AS end_ns
    FROM finding_held_copy WHERE kind = 'memcpy' AND copy_kind IN (1, 2) AND bytes >= $least_bytes::BIGINT
), led AS (
    SELECT memop_id, device_id, bytes, copy_kind, lead({'kind': copy_kind, 'bytes': bytes}) OVER (
            PARTITION BY device_id ORDER BY start_ns, memop_id
        ) AS back
    FROM copy
), message AS MATERIALIZED (
    SELECT memop_id, device_id, back.bytes AS bytes FROM led
    WHERE copy_kind = 2 AND back.kind = 1 AND back.bytes - bytes BETWEEN 1 AND $extra_bytes::BIGINT
), counted AS (SELECT count(*) AS messages FROM message HAVING count(*) >= $least_messages::BIGINT
), carried AS MATERIALIZED (
    SELECT * FROM copy
    WHERE EXISTS (FROM counted) AND (
            memop_id IN (SELECT memop_id FROM message)
            OR (device_id, bytes) IN (SELECT (device_id, bytes) FROM message)
        )
), piece AS MATERIALIZED (
    SELECT gap_id, device_id, start_ns, start_ns + duration_ns AS end_ns, s, e, ns, pre FROM selected_idle(2000, NULL)
    WHERE reason IN ('host code', 'OS runtime call') AND EXISTS (FROM counted)
), waited AS MATERIALIZED (
    SELECT * FROM piece
    WHERE (device_id, start_ns) IN (SELECT (device_id, end_ns) FROM carried)
        OR (device_id, end_ns) IN (SELECT (device_id, start_ns) FROM carried)
), taken AS ( -- noqa: ST03
    SELECT device_id, s AS start_ns, e AS end_ns FROM waited
    UNION ALL SELECT device_id, held_ns, end_ns FROM carried
), lost AS (FROM finding_cover('taken', 'finding_compute')
), moved AS (SELECT coalesce(sum(bytes), 0)::BIGINT AS bytes FROM carried
), code AS (SELECT coalesce(sum(ns), 0)::BIGINT AS code_ns FROM waited
), place AS (
    SELECT pattern FROM waited JOIN idle_pattern USING (pre) GROUP BY pattern ORDER BY sum(ns) DESC, pattern LIMIT 1
), shown AS (
    SELECT {
            'name': 'code between copies', 'ns': e - s, 'start_ns': s, 'end_ns': e, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM waited ORDER BY ns DESC, s LIMIT 10)
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT 100.0 * bare_ns / nullif(finding_window.ns, 0) AS value, bare_ns AS saving_ns,
    coalesce((SELECT messages FROM counted), 0) AS messages, moved.bytes, bare_ns, code_ns,
    (FROM place) AS range, (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN lost CROSS JOIN moved CROSS JOIN code;
