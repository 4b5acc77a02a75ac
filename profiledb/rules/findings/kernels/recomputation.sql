-- title: Activations computed again
-- question: Does the backward pass recompute the forward pass?
-- The time of kernels in the backward pass that repeat those of the forward pass, with the same grid and block, and of
-- the GPU's wait right before each, as a share of the active span (first to last operation of each GPU). Kernels that
-- only a forward pass has (normalization, softmax, attention, activations, dropout, by their names) identify them: if
-- at least `least_pct` percent of their launches recur, they count, and with them the kernels beside them that follow
-- each other as in the forward pass. The value is 0 if the program fills `full_pct` percent or more of the GPU's
-- memory, because it then has to recompute.
-- needs: kernel
-- includes: finding, training, memory
-- selects: part
-- once: span, names, trained
-- parts: matmul, convolution, attention, normalization, softmax, elementwise, random, reduction, copy, other
-- parts: launch call, launch latency, host code, other CUDA call, between operations
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: least_pct = 10 smallest share of the forward pass that must recur, percent
-- param: full_pct = 70 share of GPU memory in use from which the value is 0, percent
-- column: again_ns | ns | | time of the repeated kernels and of the waits for them
-- column: launches | count | | repeated kernels
-- column: held_pct | % | .0f | most memory of a GPU that the program holds, if the report shows it
-- column: kernel | name | | kernel with most of this time
-- says: The backward pass runs {launches} {launches|kernel|kernels} of the forward pass again, which takes {again_ns} ({value} of the time), mostly {kernel}. GPU memory is {held_pct} full.
-- says: The backward pass runs {launches} {launches|kernel|kernels} of the forward pass again, which takes {again_ns} ({value} of the time), mostly {kernel}. This report does not show how full GPU memory is.
-- clear: The backward pass runs {launches} {launches|kernel|kernels} of the forward pass again, which takes {again_ns}; memory is {held_pct} full.
-- clear: Running the forward pass again takes {value} of the time.
-- advice: [PyTorch] If memory allows, checkpoint fewer layers, or none: `use_checkpoint=False`, `model.gradient_checkpointing_disable()`. Each layer that keeps its activations saves its share.
-- advice: [PyTorch] Checkpoint only activations that are large and cheap to recompute, and keep the results of matrix products and attention: `create_selective_checkpoint_contexts`.
-- advice: [not PyTorch] If memory allows, keep the activations of more layers; recompute only those that are large and cheap.
-- advice: If memory is scarce, free some first: sharded optimizer states, lower precision, a fused loss, a smaller batch.
-- change: without_recomputation
-- source: ours; PyTorch's documentation of torch.utils.checkpoint (it trades computation for memory)
SELECT NULL AS value, 'No thread and no range of the selection is that of a backward pass.' AS unjudged, 0 AS saving_ns,
    NULL AS again_ns, NULL AS launches, NULL AS held_pct, NULL AS kernel, NULL AS evidence
FROM finding_trained WHERE kind = 'kernel' AND is_backward
HAVING count(*) = 0 AND NOT has_rows('memory_event') AND NOT has_rows('tensor_event');

WITH trained AS MATERIALIZED (
    SELECT is_backward FROM finding_trained WHERE kind = 'kernel' AND is_backward IS NOT NULL
), again AS MATERIALIZED (FROM finding_recomputed($least_pct::DOUBLE)
), by_kernel AS (
    SELECT kernel, any_value(readable) AS name, sum(end_ns - start_ns + waited_ns)::BIGINT AS ns,
        count(*) AS launches
    FROM again JOIN kernel_key USING (name_id) GROUP BY kernel ORDER BY ns DESC, kernel
), held AS (
    SELECT max(100.0 * bytes / nullif(memory_bytes, 0)) AS pct FROM (
        SELECT device_id, max(held_bytes) AS bytes FROM memory_held GROUP BY device_id
        UNION ALL
        SELECT device_id, max(coalesce(reserved_bytes, allocated_bytes)) FROM tensor_event
        WHERE device_type <> 0 GROUP BY device_id
    ) JOIN gpu ON gpu_id = device_id
), total AS (SELECT coalesce(sum(ns), 0)::BIGINT AS ns, sum(launches)::BIGINT AS launches FROM by_kernel
)
SELECT CASE WHEN NOT EXISTS (FROM trained WHERE is_backward) THEN NULL
        WHEN coalesce(pct, 0) < $full_pct::DOUBLE THEN 100.0 * total.ns / nullif(finding_window.ns, 0)
        ELSE 0 END AS value,
    CASE WHEN NOT EXISTS (FROM trained WHERE is_backward)
        THEN 'No thread and no range of the selection is that of a backward pass.' END AS unjudged,
    total.ns AS saving_ns, nullif(total.ns, 0) AS again_ns, total.launches, pct AS held_pct,
    (SELECT name FROM by_kernel ORDER BY ns DESC, kernel LIMIT 1) AS kernel,
    (
        SELECT list({'name': name, 'ns': ns, 'count': launches, 'kernel': kernel} ORDER BY ns DESC, kernel)
        FROM (FROM by_kernel ORDER BY ns DESC, kernel LIMIT 10)
    ) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN held;
