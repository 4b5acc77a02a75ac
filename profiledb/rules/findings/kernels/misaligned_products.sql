-- title: Misaligned matrix products
-- question: Do matrix products have sizes that tensor cores load inefficiently?
-- The time of matrix products and convolutions on tensor cores whose names indicate loads of 4 bytes or less (align1 or
-- align2 of 16 bits, align1 of 32), as a share of the active span (first to last operation of each GPU). Libraries
-- choose such kernels for odd sizes or strides, and give up the fast ones: on Hopper and newer, all that use
-- warpgroups. FP64 does not count: its loads are never shorter. The saving of the next multiple of 8 is three quarters
-- of the time on Hopper and newer, half on others, as measured.
-- needs: kernel
-- includes: finding, idle, work, tensor
-- selects: part
-- once: span, names, sums, products
-- parts: matmul, convolution, attention
-- unit: %
-- fires: above
-- param: threshold = 3 fires at or above this share of the active span
-- column: slow_ns | ns | | time of these kernels
-- column: launches | count | | launches of these kernels
-- column: kernel | name | | the one with the most time
-- column: range | name | | range with most of this time; * stands for its last number
-- says: Matrix products with sizes that are not multiples of 8 take {slow_ns} ({value} of the time), mostly {kernel} in {range}: tensor cores load them one or two elements at a time.
-- says: Matrix products with sizes that are not multiples of 8 take {slow_ns} ({value} of the time), mostly {kernel}: tensor cores load them one or two elements at a time.
-- clear: Misaligned matrix products take {value} of the time.
-- advice: [PyTorch or JAX or XLA or TensorFlow] Pad the odd size of the product in {range|the model} to a multiple of 64: a vocabulary of 50,257 becomes 50,304. The same holds for heads, hidden sizes and batches.
-- advice: [training, PyTorch or JAX or XLA or TensorFlow] Mask the padding of classes and tokens in the loss.
-- advice: [else] Pad sizes and leading dimensions of the product in {range|the program} to multiples of 16 bytes at least.
-- advice: [Hugging Face] `model.resize_token_embeddings(pad_to_multiple_of=64)` pads a vocabulary, `pad_to_multiple_of=8` of the collator the lengths.
-- advice: Views that start at an odd element are misaligned, too, whatever their size.
-- source: ours; NVIDIA's matrix multiplication guide (alignment of 16 bytes). Pairs on H100 with 50,257 and 50,304 columns: 7.6 and 3.5 times as long
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS slow_ns, NULL AS launches, NULL AS kernel, NULL AS range,
    NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (
        FROM finding_kernel_sum JOIN product_name USING (name_id)
        WHERE unit = 'tensor' AND bits < 64 AND bits <= 32 / list_min(
                list_transform(regexp_extract_all(demangled, 'align[abc]?(\d+)', 1), LAMBDA one: one::INTEGER)
            )
    );

WITH product AS MATERIALIZED (
    SELECT name_id FROM product_name
    WHERE unit = 'tensor' AND bits < 64 AND bits <= 32 / list_min(
            list_transform(regexp_extract_all(demangled, 'align[abc]?(\d+)', 1), LAMBDA one: one::INTEGER)
        )
), slow AS MATERIALIZED (  -- kernels that overlap count once
    SELECT device_id, start_ns, end_ns, process_range FROM selected_kernel WHERE name_id IN (FROM product)
), taken AS (
    SELECT device_id, sum(end_ns - start_ns) AS ns FROM finding_union('slow')
    WHERE EXISTS (FROM slow) GROUP BY device_id
), total AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns,
        coalesce(sum(ns * CASE WHEN TRY_CAST(compute_capability AS DOUBLE) >= 9 THEN 0.75 ELSE 0.5 END), 0)::BIGINT
            AS saving_ns
    FROM taken LEFT JOIN gpu ON gpu_id = device_id
), place AS (
    SELECT pattern FROM slow LEFT JOIN idle_pattern ON pre = process_range
    GROUP BY pattern ORDER BY sum(end_ns - start_ns) DESC, pattern LIMIT 1
), by_name AS (
    SELECT kernel, any_value(readable) AS name, sum(ns)::BIGINT AS ns,
        sum(launches)::BIGINT AS launches
    FROM finding_kernel_sum JOIN kernel_key USING (name_id) WHERE name_id IN (FROM product)
    GROUP BY kernel ORDER BY ns DESC, kernel LIMIT 10
)
SELECT 100.0 * total.ns / nullif(finding_window.ns, 0) AS value, saving_ns, total.ns AS slow_ns,
    (SELECT sum(launches)::BIGINT FROM by_name) AS launches,
    (SELECT name FROM by_name ORDER BY ns DESC, kernel LIMIT 1) AS kernel, (SELECT pattern FROM place) AS range,
    (
        SELECT list({'name': name, 'ns': ns, 'count': launches, 'kernel': kernel} ORDER BY ns DESC, kernel)
        FROM by_name
    ) AS evidence
FROM finding_window CROSS JOIN total;
