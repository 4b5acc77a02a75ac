-- title: Gradients zeroed by filling
-- question: Does each step fill gradients with zeros and add to them instead of releasing them?
-- The time of kernels and memsets that fill gradients with zeros and of the additions in the backward pass that this
-- requires, each with the GPU's wait right before it (except before the first fill of a row), as a share of the active
-- span (first to last operation of each GPU). Fills of gradients are those of PyTorch for a list of tensors
-- (`_foreach_zero_`), those in ranges named like zero_grad, and outside the backward pass rows of at least `row`
-- consecutive fills of a stream, if at least three rows have the same length; memsets alone need `least_bytes` per row.
-- An addition reads twice and writes once, so additions count up to three times the time of the fills. The rule cannot
-- judge programs without a backward pass.
-- needs: kernel
-- includes: finding, training
-- selects: part
-- once: span, names, trained
-- parts: optimizer, copy, elementwise, copies, launch call, launch latency, host code, other CUDA call
-- parts: between operations
-- unit: %
-- fires: above
-- param: threshold = 3 fires at or above this share of the active span
-- param: row = 8 fewest consecutive fills that count as those of gradients
-- param: least_bytes = 1000000 fewest bytes of a row of memsets that counts
-- column: fill_ns | ns | | time of the fills
-- column: add_ns | ns | | time of the additions that count
-- column: fills | count | | number of fills
-- column: kernel | name | | kernel or memset with most of this time
-- says: {fills} {fills|fill sets|fills set} gradients to zero ({fill_ns} with the waits between them), and backward adds to them ({add_ns}): {value} of the time, mostly in {kernel}.
-- says: {fills} {fills|fill sets|fills set} gradients to zero, which takes {fill_ns} with the waits between them ({value} of the time), mostly in {kernel}.
-- clear: Gradients are filled with zeros for {value} of the time.
-- advice: [PyTorch] Call `optimizer.zero_grad(set_to_none=True)`, the default since PyTorch 2.0: the backward pass then writes gradients instead of adding to zeros.
-- advice: [PyTorch] If you accumulate gradients over several batches, release them once, before the first batch. Frameworks that keep all gradients in one buffer (Megatron, DeepSpeed) need the fill.
-- advice: [not PyTorch] Write the first gradient of a step instead of adding it to zeros.
-- source: PyTorch Performance Tuning Guide (zero_grad, set_to_none)
SELECT NULL AS value, 'No thread and no range of the selection is that of a backward pass.' AS unjudged, 0 AS saving_ns,
    0 AS fill_ns, NULL AS add_ns, 0 AS fills, NULL AS kernel, NULL AS evidence
FROM finding_trained
WHERE is_backward OR kind = 'memset'
    OR name_id IN (SELECT name_id FROM kernel_name WHERE regexp_matches(demangled, 'FillFunctor|ZeroFunctor'))
HAVING count(*) = 0;

WITH trained AS MATERIALIZED (FROM finding_trained
), cleared AS MATERIALIZED (
    SELECT pre FROM idle_pattern WHERE regexp_matches(pattern, '(?i)(zero|clear)_?grad')
), filling AS MATERIALIZED (
    SELECT name_id, contains(demangled, 'ZeroFunctor') AS sure FROM kernel_name
    WHERE regexp_matches(demangled, 'multi_tensor_apply.*ZeroFunctor|FillFunctor')
), marked AS (
    SELECT *, sum(CASE WHEN fills THEN 0 ELSE 1 END) OVER (
            PARTITION BY device_id, stream_id ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING
        ) AS row_id
    FROM (SELECT *, kind = 'memset' OR coalesce(name_id IN (SELECT name_id FROM filling), false) AS fills FROM trained)
), fill AS MATERIALIZED (
    SELECT marked.*, sure, start_ns > min(start_ns) OVER (PARTITION BY device_id, stream_id, row_id) AS goes_on,
        count(*) OVER (PARTITION BY device_id, stream_id, row_id) AS length
    FROM marked LEFT JOIN filling USING (name_id) WHERE fills
), usual AS (
    SELECT length FROM (
        SELECT length FROM fill WHERE length >= $row::BIGINT GROUP BY device_id, stream_id, row_id, length
        HAVING NOT bool_or(is_backward) AND (count(name_id) = length OR sum(bytes) >= $least_bytes::BIGINT)
    ) GROUP BY length HAVING count(*) >= 3
), found AS MATERIALIZED (
    SELECT *, end_ns - start_ns + CASE WHEN goes_on THEN waited_ns ELSE 0 END AS ns FROM fill
    WHERE sure OR pre IN (FROM cleared) OR length IN (FROM usual) AND NOT is_backward
), added AS (
    SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns, coalesce(sum(waited_ns), 0)::BIGINT AS waited_ns
    FROM trained JOIN kernel_name USING (name_id)
    WHERE is_backward AND regexp_matches(demangled, 'CUDAFunctor_add|AddFunctor')
), filled AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns, coalesce(sum(end_ns - start_ns), 0)::BIGINT AS fill_ns, count(*) AS fills
    FROM found
), summed AS (
    SELECT filled.ns AS fill_ns, fills, CASE WHEN added.ns > 0
            THEN (least(1, 3.0 * filled.fill_ns / added.ns) * (added.ns + waited_ns))::BIGINT ELSE 0 END AS add_ns
    FROM filled CROSS JOIN added
), by_kernel AS (
    SELECT kernel, coalesce(any_value(readable), 'memory set') AS name,
        sum(ns)::BIGINT AS ns, count(*) AS fills
    FROM found LEFT JOIN kernel_key USING (name_id) GROUP BY kernel ORDER BY ns DESC, kernel LIMIT 10
)
SELECT CASE WHEN EXISTS (FROM trained WHERE is_backward)
        THEN 100.0 * (summed.fill_ns + add_ns) / nullif(finding_window.ns, 0) END AS value,
    'No thread and no range of the selection is that of a backward pass.' AS unjudged,
    least(summed.fill_ns + add_ns, finding_window.ns)::BIGINT AS saving_ns, summed.fill_ns,
    nullif(add_ns, 0) AS add_ns, summed.fills, (SELECT name FROM by_kernel ORDER BY ns DESC, kernel LIMIT 1) AS kernel,
    (
        SELECT list({'name': name, 'ns': ns, 'count': fills, 'kernel': kernel} ORDER BY ns DESC, kernel) FROM by_kernel
    ) AS evidence
FROM finding_window CROSS JOIN summed;
