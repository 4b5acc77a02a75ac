-- title: Gradients filled with zeros
-- question: Does each step fill the gradients with zeros and add to them, where it could let go of them?
-- The time of kernels and memory sets that fill gradients with zeros, and of the additions in the backward pass that
-- this makes necessary, as a share of the time from the first to the last operation. Fills of gradients are PyTorch's
-- for a list of tensors (`_foreach_zero_`), those in ranges called like zero_grad, and in a program with a backward pass
-- rows of at least `row` fills of a stream with nothing between them, of which at least three are equally long. An
-- addition reads twice and writes once, so that additions count up to three times the time of the fills.
-- needs: kernel
-- includes: finding, training
-- selects: part
-- parts: optimizer, copy, elementwise, copies
-- unit: %
-- fires: above
-- param: threshold = 3 share of the time from which on it is said
-- param: row = 8 fills one after the other from which on they are those of gradients
-- column: fill_ns | ns | | time of the fills
-- column: add_ns | ns | | time of the additions that count
-- column: fills | count | | fills
-- column: kernel | name | | the kernel, or the memory set, with the most of this time
-- says: {fills} {fills|fill|fills} set gradients to zero in {fill_ns}, and backward adds to them in {add_ns}: {value} of the time, most of it in {kernel}.
-- says: {fills} {fills|fill|fills} set gradients to zero in {fill_ns} ({value} of the time), most of it in {kernel}.
-- clear: Gradients are filled with zeros for {value} of the time.
-- advice: [PyTorch] `optimizer.zero_grad(set_to_none=True)`, the default since PyTorch 2.0: the backward pass then writes gradients in place of adding to zeros.
-- advice: [PyTorch] If gradients are accumulated over several batches, let go of them once before the first batch. Where a framework keeps all gradients in one buffer (Megatron, DeepSpeed), it needs the fill.
-- advice: [not PyTorch] Write the first gradient of a step in place of adding it to zeros.
-- source: PyTorch Performance Tuning Guide (zero_grad, set_to_none)
WITH trained AS MATERIALIZED (FROM finding_trained_kernel
), cleared AS MATERIALIZED (
    SELECT pre FROM idle_pattern WHERE regexp_matches(pattern, '(?i)(zero|clear)_?grad')
), filling AS MATERIALIZED (
    SELECT name_id, contains(demangled, 'ZeroFunctor') AS sure FROM kernel_name
    WHERE regexp_matches(demangled, 'multi_tensor_apply.*ZeroFunctor|FillFunctor')
), operation AS (
    SELECT device_id, stream_id, start_ns, end_ns, name_id, coalesce(process_range, thread_range) AS pre,
        name_id IN (SELECT name_id FROM filling) AS fills
    FROM selected_kernel
    UNION ALL
    SELECT device_id, stream_id, start_ns, end_ns, NULL, coalesce(process_range, thread_range), kind = 'memset'
    FROM selected_memop
), marked AS (
    SELECT *, sum(CASE WHEN fills THEN 0 ELSE 1 END) OVER (
            PARTITION BY device_id, stream_id ORDER BY start_ns, end_ns ROWS UNBOUNDED PRECEDING
        ) AS row_id
    FROM operation
), fill AS MATERIALIZED (
    SELECT marked.* EXCLUDE (fills), sure, count(*) OVER (PARTITION BY device_id, stream_id, row_id) AS length
    FROM marked LEFT JOIN filling USING (name_id) WHERE fills
), usual AS (
    SELECT length FROM (SELECT DISTINCT device_id, stream_id, row_id, length FROM fill)
    WHERE length >= $row::BIGINT AND EXISTS (FROM trained WHERE is_backward) GROUP BY length HAVING count(*) >= 3
), found AS MATERIALIZED (
    SELECT * FROM fill WHERE sure OR pre IN (FROM cleared) OR length IN (FROM usual)
), added AS (
    SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns FROM trained
    JOIN kernel_name USING (name_id)
    WHERE is_backward AND regexp_matches(demangled, 'CUDAFunctor_add|AddFunctor')
), total AS (
    SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS fill_ns, least(added.ns, 3 * fill_ns) AS add_ns,
        count(*) AS fills
    FROM found CROSS JOIN added GROUP BY added.ns
), summed AS (
    SELECT coalesce(max(fill_ns), 0) AS fill_ns, coalesce(max(add_ns), 0) AS add_ns, coalesce(max(fills), 0) AS fills
    FROM total
), by_kernel AS (
    SELECT kernel, coalesce(any_value(readable_name(short, demangled)), 'memory set') AS name,
        sum(end_ns - start_ns)::BIGINT AS ns, count(*) AS fills
    FROM found LEFT JOIN kernel_key USING (name_id) GROUP BY kernel ORDER BY ns DESC, kernel LIMIT 10
)
SELECT 100.0 * (summed.fill_ns + add_ns) / nullif(finding_window.ns, 0) AS value,
    least(summed.fill_ns + add_ns, finding_window.ns)::BIGINT AS saving_ns, summed.fill_ns,
    nullif(add_ns, 0) AS add_ns, summed.fills, (SELECT name FROM by_kernel ORDER BY ns DESC, kernel LIMIT 1) AS kernel,
    (
        SELECT list({'name': name, 'ns': ns, 'count': fills, 'kernel': kernel} ORDER BY ns DESC, kernel) FROM by_kernel
    ) AS evidence
FROM finding_window CROSS JOIN summed;
