-- title: Optimizer updates each parameter by itself
-- question: Does the optimizer launch kernels parameter by parameter?
-- The share of each GPU's active span (first to last operation) that it is idle while the launching thread is in a
-- range named like an optimizer's update (optimizer, `Optimizer.step#AdamW.step`, adam, sgd ...) with at least
-- `launches` kernels on single tensors. Fused and `foreach` kernels (`multi_tensor_apply`) and fills of new state do
-- not count. Without ranges of such names the rule cannot judge.
-- needs: kernel
-- needs: range
-- includes: finding, idle, waiting
-- selects: part
-- once: functions, idle
-- parts: launch call, launch latency, host code, other CUDA call, between operations
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: launches = 100 fewest launches in one of these ranges
-- column: idle_ns | ns | | idle time in these ranges
-- column: calls | count | | mean number of such kernels per range
-- column: range | name | | the range; * stands for its last number
-- says: The GPU waits {value} of the time ({idle_ns}) in {range}, which launches {calls} {calls|kernel|kernels} each time: a few for each parameter.
-- clear: The GPU waits {value} of the time for an optimizer that updates each parameter by itself.
-- advice: [Trainer, not fused optimizer] Have {place} update all parameters at once: `TrainingArguments(optim="adamw_torch_fused")`.
-- advice: [else, DeepSpeed] Have {place} update all parameters at once: `FusedAdam` of DeepSpeed.
-- advice: [else, PyTorch, not fused optimizer, foreach optimizer] Have the rest of {place} update its parameters at once, too: `fused=True`.
-- advice: [else, PyTorch, not fused optimizer] Have {place} update all parameters at once: `fused=True`, or `foreach=True` where that is not offered.
-- advice: [else, PyTorch] Have the rest of {place} update all parameters at once, too: fused kernels run already beside these small ones.
-- advice: [else, JAX or XLA] Put {place} into the same `jax.jit` as the gradients, and update one flat vector (`optax.flatten`).
-- advice: [else] Put the parameters into few large buffers, and update each with one kernel in {place}.
-- advice: [PyTorch, not torch.compile] A loop of your own over parameters: `torch._foreach_mul_` and the like, or a compiled step (`torch.compile`).
-- advice: [PyTorch, torch.compile] A loop of your own over parameters: `torch._foreach_mul_` and the like, or the step inside of the compiled function.
-- source: ours; PyTorch's documentation of torch.optim (for-loop, foreach, fused)
WITH named AS MATERIALIZED (
    SELECT path_id, pattern FROM path_pattern
    WHERE regexp_matches(pattern, '(?i)(^|[^a-z])(optimizer|optim|adamw?|sgd|lion|adafactor'
        || '|update_?(weights|params|parameters))([^a-z]|$)')
), one AS MATERIALIZED (  -- outermost ranges only
    SELECT pre, post, pattern FROM selected_range JOIN named USING (path_id)
    QUALIFY post > coalesce(max(post) OVER (ORDER BY pre ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
), launched AS MATERIALIZED (
    SELECT one.pre, count(*) AS kernels
    FROM (
        SELECT process_range FROM selected_kernel JOIN kernel_name USING (name_id)
        WHERE NOT is_fused(demangled) AND NOT contains(demangled, 'FillFunctor')
    ) AS kernel ASOF JOIN one ON kernel.process_range >= one.pre WHERE kernel.process_range <= one.post GROUP BY one.pre
), many AS MATERIALIZED (
    SELECT pre, post, pattern, kernels FROM one JOIN launched USING (pre)
    WHERE kernels >= $launches::BIGINT
), piece AS MATERIALIZED (
    SELECT device_id, s, e, idle.ns, many.pattern
    FROM (SELECT device_id, s, e, ns, pre FROM selected_idle(2000, NULL) WHERE pre > 0) AS idle
    ASOF JOIN many ON idle.pre >= many.pre WHERE idle.pre <= many.post
), main AS (
    SELECT pattern, avg(kernels) AS calls FROM many GROUP BY pattern ORDER BY sum(kernels) DESC, pattern LIMIT 1
), total AS (SELECT coalesce(sum(ns), 0)::BIGINT AS ns FROM piece
), shown AS (
    SELECT ns, s, {'name': pattern, 'ns': ns, 'start_ns': s, 'end_ns': e, 'device': device_id} AS piece
    FROM piece ORDER BY ns DESC, s LIMIT 10
)
SELECT CASE WHEN EXISTS (FROM one) THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT EXISTS (FROM one) THEN 'No range of the selection is called like an update of an optimizer.' END
        AS unjudged,
    total.ns AS saving_ns, total.ns AS idle_ns, main.calls, main.pattern AS range,
    (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total LEFT JOIN main ON true;
