-- title: Optimizer updates parameters one by one
-- question: Does the optimizer launch kernels parameter by parameter?
-- The share of each GPU's active span (first to last operation) that it is idle while the launching thread updates
-- parameters with at least `launches` kernels on single tensors: in a range named like that (optimizer,
-- `Optimizer.step#AdamW.step`, adam, sgd ...), or between a backward pass and the next product, if `single_pct` percent
-- of the kernels there are elementwise and at most one of ten has a name of its own. Fused and `foreach` kernels
-- (`multi_tensor_apply`) and fills of new state do not count. The saving has, beside that time, that of these kernels
-- but for the name that takes longest: one kernel for all reads and writes at least as much. Without such ranges and
-- backward passes the rule cannot judge.
-- needs: kernel
-- needs: api_call
-- includes: finding, idle, waiting, training
-- selects: part
-- once: span, functions, idle, updates
-- parts: launch call, launch latency, host code, other CUDA call, between operations, elementwise
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: launches = 100 fewest launches of one update
-- param: single_pct = 90 share of elementwise kernels that tells an update without a range of its own, percent
-- column: idle_ns | ns | | idle time in these updates
-- column: more_ns | ns | | time of these kernels but for the name that takes longest
-- column: calls | count | | mean number of such kernels per update
-- column: range | name | | the range; * stands for its last number
-- says: The GPU waits {value} of the time ({idle_ns}) in {range}, which launches {calls} {calls|kernel|kernels} each time, a few per parameter. They take {more_ns} longer than one for all would.
-- says: The GPU waits {value} of the time ({idle_ns}) for the optimizer, which launches {calls} {calls|kernel|kernels} each time, a few per parameter. They take {more_ns} longer than one for all would.
-- clear: The GPU waits {value} of the time for an optimizer that updates each parameter by itself.
-- advice: [Trainer, not fused optimizer] Have {place|the optimizer} update all parameters at once: `TrainingArguments(optim="adamw_torch_fused")`.
-- advice: [else, DeepSpeed] Have {place|the optimizer} update all parameters at once: `FusedAdam` of DeepSpeed.
-- advice: [else, PyTorch, not fused optimizer, foreach optimizer] Have the rest of {place|the optimizer} update its parameters at once, too: `fused=True`.
-- advice: [else, PyTorch, not fused optimizer] Have {place|the optimizer} update all parameters at once: `fused=True`, or `foreach=True` if it has no fused version.
-- advice: [else, PyTorch] Have the rest of {place|the optimizer} update all parameters at once, too: it already uses fused kernels for the others.
-- advice: [else, JAX or XLA] Put {place|the update} into the same `jax.jit` as the gradients, and update one flat vector (`optax.flatten`).
-- advice: [else] Put the parameters into few large buffers, and update each with one kernel in {place|the update}.
-- advice: [PyTorch, not torch.compile] Replace your own loop over parameters by `torch._foreach_mul_` and the like, or compile the optimizer step (`torch.compile`).
-- advice: [PyTorch, torch.compile] Replace your own loop over parameters by `torch._foreach_mul_` and the like, or move the optimizer step into the compiled function.
-- change: fused_optimizer={range}
-- source: ours; PyTorch's documentation of torch.optim (for-loop, foreach, fused)
SELECT NULL AS value,
    'No range of the selection is called like an update of an optimizer, and no backward pass is known.' AS unjudged,
    0 AS saving_ns, 0 AS idle_ns, 0 AS more_ns, NULL AS calls, NULL AS range, NULL AS evidence
FROM finding_update() HAVING count(*) = 0 AND NOT EXISTS (FROM finding_trained WHERE is_backward);

WITH one AS MATERIALIZED (FROM finding_update()
), kernel_kind AS MATERIALIZED (  -- names are few and kernels many
    SELECT name_id, class, NOT is_fused(demangled) AND NOT contains(demangled, 'FillFunctor') AS single FROM kernel_name
), ran AS MATERIALIZED (
    SELECT update_id, name_id, class, ns, single
    FROM (
        SELECT global_tid AS tid, call.start_ns AS s, name_id, class, end_ns - kernel.start_ns AS ns, single
        FROM selected_kernel AS kernel JOIN kernel_kind USING (name_id)
        JOIN (SELECT call_id, global_tid, start_ns FROM api_call) AS call USING (call_id)
    ) AS kernel ASOF JOIN one ON kernel.tid = one.tid AND s >= one.start_ns WHERE s < one.end_ns
), launched AS (
    SELECT update_id, count(*) FILTER (single) AS kernels,
        count(*) FILTER (single AND class = 'elementwise') AS elementwise, count(*) AS every,
        count(DISTINCT name_id) FILTER (single) AS names
    FROM ran GROUP BY update_id
), many AS MATERIALIZED (
    SELECT one.*, kernels FROM one JOIN launched USING (update_id)
    WHERE kernels >= $launches::BIGINT
        AND (pattern IS NOT NULL OR 100 * elementwise >= $single_pct::DOUBLE * every AND 10 * names <= kernels)
), piece AS MATERIALIZED (
    SELECT device_id, s, least(e, end_ns) AS e, least(e, end_ns) - s AS ns, kernels,
        coalesce(many.pattern, idle_pattern.pattern) AS pattern
    FROM (SELECT device_id, tid, s, e, pre FROM selected_idle(2000, NULL) WHERE tid IS NOT NULL) AS idle
    ASOF JOIN many ON idle.tid = many.tid AND s >= start_ns LEFT JOIN idle_pattern USING (pre) WHERE s < end_ns
), main AS (
    SELECT pattern, avg(kernels) AS calls FROM piece GROUP BY pattern ORDER BY sum(ns) DESC, pattern LIMIT 1
), gone AS (
    SELECT coalesce(sum(ns) - max(ns), 0)::BIGINT AS ns FROM (
        SELECT name_id, sum(ns) AS ns FROM ran SEMI JOIN many USING (update_id) WHERE single GROUP BY name_id
    )
), total AS (
    SELECT coalesce(sum(piece.ns), 0)::BIGINT AS idle_ns,
        CASE WHEN idle_ns > 0 THEN any_value(gone.ns) ELSE 0 END AS more_ns
    FROM gone LEFT JOIN piece ON true
), shown AS (
    SELECT ns, s, {
            'name': coalesce(pattern, 'Outside all ranges'), 'ns': ns, 'start_ns': s, 'end_ns': e, 'device': device_id
        } AS piece
    FROM piece ORDER BY ns DESC, s LIMIT 10
)
SELECT CASE WHEN known THEN 100.0 * total.idle_ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT known
        THEN 'No range of the selection is called like an update of an optimizer, and no backward pass is known.' END
        AS unjudged,
    idle_ns + more_ns AS saving_ns, total.idle_ns, total.more_ns, main.calls, main.pattern AS range,
    (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN (
    SELECT EXISTS (FROM one) OR EXISTS (FROM finding_trained WHERE is_backward) AS known
) CROSS JOIN total LEFT JOIN main ON true;
