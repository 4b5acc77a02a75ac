-- title: Optimizer on the CPU
-- question: Does the GPU wait while the CPU updates the parameters?
-- The share of each GPU's active span (first to last operation) in which it waits, or copies without computing, while a
-- thread updates parameters on the CPU: GPU kernels take less than a tenth of the time of the update. In a range named
-- like an update (optimizer, `Optimizer.step#AdamW.step`, adam, sgd ...) it either copies `least_bytes` or more from
-- the GPU and about as much back, or runs PyTorch's update operators without a kernel. Between a backward pass and the
-- next product it copies as much both ways, in at least `copies` copies each, half of the bytes in sizes that return.
-- Copies to the CPU that the backward pass before an update launches belong to it: hooks send each gradient as it
-- comes. Without such ranges and backward passes the rule cannot judge.
-- needs: kernel
-- needs: api_call
-- includes: finding, idle, waiting, training
-- selects: part
-- once: span, functions, idle, updates
-- parts: host code, copies, copy call, synchronization, OS runtime call, other CUDA call, launch call, launch latency
-- parts: between operations
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_bytes = 1000000 fewest bytes that one update must copy each way to move gradients and parameters
-- param: copies = 4 fewest copies each way that tell an update without a range of its own
-- column: lost_ns | ns | | time in these updates in which the GPU waits or copies
-- column: down_bytes | bytes | | mean bytes that one update copies from the GPU
-- column: up_bytes | bytes | | mean bytes that one update copies to the GPU
-- column: calls | count | | number of these updates
-- column: range | name | | the range; * stands for its last number
-- says: The CPU updates the parameters in {range}: {down_bytes} come from the GPU, {up_bytes} go back, and the GPU computes nothing for {lost_ns} ({value} of the time).
-- says: The CPU updates the parameters: {down_bytes} come from the GPU, {up_bytes} go back, and the GPU computes nothing for {lost_ns} ({value} of the time).
-- says: The CPU updates the parameters in {range}, and the GPU computes nothing for {lost_ns} ({value} of the time).
-- clear: The GPU waits {value} of the time for an optimizer that works on the CPU.
-- advice: [PyTorch] Keep parameters and optimizer state on the GPU, and give the optimizer the parameters of the model itself: `torch.optim.AdamW(model.parameters())`.
-- advice: [not PyTorch] Keep parameters and optimizer state on the GPU, and update them there.
-- advice: [PyTorch] If the state does not fit: shard it over GPUs (FSDP, ZeRO), take 8-bit states, or offload with a fused CPU optimizer that overlaps its copies with backward (DeepSpeedCPUAdam).
-- source: ours
SELECT NULL AS value,
    'No range of the selection is called like an update of an optimizer, and no backward pass is known.' AS unjudged,
    0 AS saving_ns, NULL AS lost_ns, NULL AS calls, NULL AS down_bytes, NULL AS up_bytes, NULL AS range,
    NULL AS evidence
FROM finding_update() HAVING count(*) = 0 AND NOT EXISTS (FROM finding_trained WHERE is_backward);

WITH one AS MATERIALIZED (FROM finding_update()
), work AS MATERIALIZED (
    SELECT update_id, kind, work.start_ns, work.end_ns, bytes, copy_kind, false AS is_before
    FROM (
        SELECT kind, work.start_ns, work.end_ns, bytes, copy_kind, global_tid AS tid, call.start_ns AS s
        FROM (
            SELECT 'kernel' AS kind, call_id, start_ns, end_ns, NULL::BIGINT AS bytes, NULL::INTEGER AS copy_kind
            FROM selected_kernel
            UNION ALL SELECT kind, call_id, start_ns, end_ns, bytes, copy_kind FROM selected_memop
            UNION ALL SELECT 'kernel', call_id, start_ns, end_ns, NULL, NULL FROM selected_graph_launch
        ) AS work JOIN (SELECT call_id, global_tid, start_ns FROM api_call) AS call USING (call_id)
    ) AS work ASOF JOIN one ON work.tid = one.tid AND s >= one.start_ns WHERE s < one.end_ns
    UNION ALL
    SELECT update_id, kind, sent.start_ns, sent.end_ns, bytes, 2, true
    FROM (
        SELECT copy.kind, copy.start_ns, copy.end_ns, copy.bytes, pid_of(global_tid) AS pid, call.start_ns AS s
        FROM (FROM finding_trained WHERE is_backward AND kind = 'memcpy') AS copy
        JOIN (SELECT memop_id AS id FROM selected_memop WHERE copy_kind = 2) USING (id)
        JOIN (SELECT call_id, global_tid, start_ns FROM api_call) AS call USING (call_id)
    ) AS sent ASOF JOIN (SELECT update_id, pid_of(tid) AS pid, start_ns FROM one) AS next
        ON sent.pid = next.pid AND s <= next.start_ns
), ran AS (
    SELECT update_id, sum(end_ns - start_ns) FILTER (kind = 'kernel') AS kernel_ns,
        count(*) FILTER (kind = 'kernel') AS kernels,
        coalesce(sum(bytes) FILTER (copy_kind = 2), 0) AS down_bytes,
        coalesce(sum(bytes) FILTER (copy_kind = 1), 0) AS up_bytes,
        least(count(*) FILTER (copy_kind = 2), count(*) FILTER (copy_kind = 1)) AS copies
    FROM work GROUP BY update_id
), returned AS (  -- bytes of copies from the GPU whose size goes back
    SELECT update_id, sum(bytes * least(downs, ups)) AS back_bytes FROM (
        SELECT update_id, bytes, count(*) FILTER (copy_kind = 2) AS downs, count(*) FILTER (copy_kind = 1) AS ups
        FROM work WHERE kind = 'memcpy' GROUP BY ALL
    ) GROUP BY update_id
), operating AS (  -- updates with PyTorch's operators for them
    SELECT DISTINCT update_id FROM (
        SELECT range.global_tid AS tid, range.start_ns AS s FROM selected_range AS range JOIN range_name USING (name_id)
        WHERE regexp_matches(text, '^aten::(_fused_\w+_|_foreach_\w+|addc(div|mul)_|lerp_)$')
    ) AS operator ASOF JOIN one ON operator.tid = one.tid AND s >= one.start_ns
    WHERE s < one.end_ns AND pattern IS NOT NULL
), cpu AS MATERIALIZED (
    SELECT one.*, down_bytes, up_bytes
    FROM one LEFT JOIN ran USING (update_id) LEFT JOIN returned USING (update_id) LEFT JOIN operating USING (update_id)
    WHERE 10 * coalesce(kernel_ns, 0) < one.end_ns - one.start_ns
        AND (
            least(down_bytes, up_bytes) >= $least_bytes::BIGINT AND greatest(down_bytes, up_bytes)
                <= 4 * least(down_bytes, up_bytes)
                AND (pattern IS NOT NULL OR copies >= $copies::BIGINT AND 2 * back_bytes >= down_bytes)
            OR operating.update_id IS NOT NULL AND coalesce(kernels, 0) = 0
        )
), piece AS MATERIALIZED (
    SELECT device_id, s, least(e, end_ns) AS e, least(e, end_ns) - s AS ns, update_id,
        coalesce(cpu.pattern, idle_pattern.pattern) AS pattern
    FROM (SELECT device_id, tid, s, e, pre FROM selected_idle(2000, NULL) WHERE tid IS NOT NULL) AS idle
    ASOF JOIN cpu ON idle.tid = cpu.tid AND s >= start_ns LEFT JOIN idle_pattern USING (pre) WHERE s < end_ns
), moved AS (
    SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns FROM work SEMI JOIN cpu USING (update_id)
    WHERE kind <> 'kernel' AND NOT is_before
), main AS (
    SELECT pattern FROM piece GROUP BY pattern ORDER BY sum(ns) DESC, pattern LIMIT 1
), mean AS (
    SELECT nullif(count(*), 0) AS calls, nullif(avg(down_bytes), 0) AS down_bytes, nullif(avg(up_bytes), 0) AS up_bytes
    FROM cpu
), total AS (
    SELECT least(coalesce((SELECT sum(ns) FROM piece), 0) + moved.ns, finding_window.ns)::BIGINT AS ns
    FROM moved CROSS JOIN finding_window
), shown AS (
    SELECT ns, s, {
            'name': coalesce(pattern, 'Outside all ranges'), 'ns': ns, 'start_ns': s, 'end_ns': e, 'device': device_id
        } AS piece
    FROM piece ORDER BY ns DESC, s LIMIT 10
)
SELECT CASE WHEN known THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT known
        THEN 'No range of the selection is called like an update of an optimizer, and no backward pass is known.' END
        AS unjudged,
    total.ns AS saving_ns, nullif(total.ns, 0) AS lost_ns, mean.*, main.pattern AS range,
    (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN (
    SELECT EXISTS (FROM one) OR EXISTS (FROM finding_trained WHERE is_backward) AS known
) CROSS JOIN total CROSS JOIN mean LEFT JOIN main ON true;
