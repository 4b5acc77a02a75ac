-- title: Optimizer on the CPU
-- question: Does the GPU wait while the CPU updates the parameters?
-- The share of each GPU's active span (first to last operation) in which it waits, or copies without computing, while a
-- range named like an optimizer's update (optimizer, `Optimizer.step#AdamW.step`, adam, sgd ...) does its work on the
-- CPU: its GPU kernels take less than a tenth of its time, and it either copies `least_bytes` or more from the GPU and
-- about as much back, or runs PyTorch's update operators without a kernel. Without ranges of such names the rule cannot
-- judge.
-- needs: kernel
-- needs: range
-- includes: finding, idle, waiting
-- selects: part
-- once: functions, idle
-- parts: host code, copies, copy call, synchronization, OS runtime call, other CUDA call, launch call, launch latency
-- parts: between operations
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_bytes = 1000000 fewest bytes that one range must copy each way to move gradients and parameters
-- column: lost_ns | ns | | time in these ranges in which the GPU waits or copies
-- column: down_bytes | bytes | | mean bytes that one range copies from the GPU
-- column: up_bytes | bytes | | mean bytes that one range copies to the GPU
-- column: calls | count | | number of these ranges
-- column: range | name | | the range; * stands for its last number
-- says: The CPU updates the parameters in {range}: {down_bytes} come from the GPU, {up_bytes} go back, and the GPU computes nothing for {lost_ns} ({value} of the time).
-- says: The CPU updates the parameters in {range}, and the GPU computes nothing for {lost_ns} ({value} of the time).
-- clear: The GPU waits {value} of the time for an optimizer that works on the CPU.
-- advice: [PyTorch] Keep parameters and optimizer state on the GPU, and give the optimizer the parameters of the model itself: `torch.optim.AdamW(model.parameters())`.
-- advice: [not PyTorch] Keep parameters and optimizer state on the GPU, and update them there.
-- advice: [PyTorch] If the state does not fit: shard it over GPUs (FSDP, ZeRO), take 8-bit states, or offload with a fused CPU optimizer that overlaps its copies with backward (DeepSpeedCPUAdam).
-- source: ours
WITH named AS MATERIALIZED (
    SELECT path_id, pattern FROM path_pattern
    WHERE regexp_matches(pattern, '(?i)optimizer|(^|[^a-z])(optim|adamw?|sgd|lion|adafactor'
            || '|update_?(weights|params|parameters))([^a-z]|$)')
        AND NOT regexp_matches(pattern, '(?i)zero_?grad')
), one AS MATERIALIZED (  -- outermost ranges only
    SELECT pre, post, pattern, global_tid, start_ns, end_ns FROM selected_range JOIN named USING (path_id)
    QUALIFY post > coalesce(max(post) OVER (ORDER BY pre ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
), ran AS (
    SELECT one.pre, sum(work.end_ns - work.start_ns) FILTER (kind = 'kernel') AS kernel_ns,
        count(*) FILTER (kind = 'kernel') AS kernels,
        coalesce(sum(bytes) FILTER (copy_kind = 2), 0) AS down_bytes,
        coalesce(sum(bytes) FILTER (copy_kind = 1), 0) AS up_bytes
    FROM (
        SELECT 'kernel' AS kind, start_ns, end_ns, process_range, NULL::BIGINT AS bytes, NULL::INTEGER AS copy_kind
        FROM selected_kernel
        UNION ALL SELECT kind, start_ns, end_ns, process_range, bytes, copy_kind FROM selected_memop
        UNION ALL SELECT 'kernel', start_ns, end_ns, process_range, NULL, NULL FROM selected_graph_launch
    ) AS work ASOF JOIN one ON work.process_range >= one.pre WHERE work.process_range <= one.post GROUP BY one.pre
), updates AS (  -- PyTorch's update operators in these ranges
    SELECT DISTINCT one.pre FROM (
        SELECT range.pre FROM selected_range AS range JOIN range_name USING (name_id)
        WHERE regexp_matches(text, '^aten::(_fused_\w+_|_foreach_\w+|addc(div|mul)_|lerp_)$')
    ) AS operator ASOF JOIN one ON operator.pre >= one.pre WHERE operator.pre <= one.post
), cpu AS MATERIALIZED (
    SELECT one.*, down_bytes, up_bytes FROM one LEFT JOIN ran USING (pre) LEFT JOIN updates USING (pre)
    WHERE 10 * coalesce(kernel_ns, 0) < one.end_ns - one.start_ns
        AND (
            least(down_bytes, up_bytes) >= $least_bytes::BIGINT AND greatest(down_bytes, up_bytes)
                <= 4 * least(down_bytes, up_bytes)
            OR updates.pre IS NOT NULL AND coalesce(kernels, 0) = 0
        )
), piece AS MATERIALIZED (
    SELECT device_id, s, e, idle.ns, cpu.pattern
    FROM (SELECT device_id, s, e, ns, pre FROM selected_idle(2000, NULL) WHERE pre > 0) AS idle
    ASOF JOIN cpu ON idle.pre >= cpu.pre WHERE idle.pre <= cpu.post
), moved AS (
    SELECT coalesce(sum(memop.end_ns - memop.start_ns), 0)::BIGINT AS ns
    FROM selected_memop AS memop ASOF JOIN cpu ON memop.process_range >= cpu.pre WHERE memop.process_range <= cpu.post
), main AS (
    SELECT pattern, nullif(avg(down_bytes), 0) AS down_bytes, nullif(avg(up_bytes), 0) AS up_bytes
    FROM cpu GROUP BY pattern ORDER BY sum(end_ns - start_ns) DESC, pattern LIMIT 1
), total AS (
    SELECT least(coalesce((SELECT sum(ns) FROM piece), 0) + moved.ns, finding_window.ns)::BIGINT AS ns,
        (SELECT nullif(count(*), 0) FROM cpu) AS calls
    FROM moved CROSS JOIN finding_window
), shown AS (
    SELECT ns, s, {'name': pattern, 'ns': ns, 'start_ns': s, 'end_ns': e, 'device': device_id} AS piece
    FROM piece ORDER BY ns DESC, s LIMIT 10
)
SELECT CASE WHEN EXISTS (FROM one) THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT EXISTS (FROM one) THEN 'No range of the selection is called like an update of an optimizer.' END
        AS unjudged,
    total.ns AS saving_ns, nullif(total.ns, 0) AS lost_ns, total.calls, down_bytes, up_bytes, main.pattern AS range,
    (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total LEFT JOIN main ON true;
