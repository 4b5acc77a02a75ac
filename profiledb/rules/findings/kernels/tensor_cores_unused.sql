-- title: Tensor cores unused
-- question: Do matrix products or convolutions run on CUDA cores?
-- The time of matrix products and convolutions whose names indicate FP32 on CUDA cores, as a share of the active span
-- (first to last operation of each GPU). Products with a vector and GPUs without tensor cores do not count. The rule
-- does not judge FP64, nor anything if most products are in FP64. The saving follows from the peaks of tensor cores (in
-- TF32, or in FP16 before Ampere) and CUDA cores: a bound that memory and small sizes keep out of reach. The finding is
-- low, because another precision changes results: the program's owner decides.
-- needs: kernel
-- includes: finding, work, tensor, peak
-- selects: part
-- once: span, names, sums, products
-- parts: matmul, convolution, attention
-- weight: low
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_pct = 20 share of the time of all products below which the value is 0, percent
-- column: cuda_ns | ns | | kernel time of these kernels: those that overlap count each
-- column: product_pct | % | .1f | share of these kernels in the time of all products with a known unit
-- column: products | text | | matrix products or convolutions, by which takes most of this time
-- column: kernel | name | | the one with the most time
-- column: precision | text | | precision to use on this GPU's tensor cores
-- column: faster | ratio | .1f | peak of tensor cores in this precision over that of CUDA cores
-- says: {products} on CUDA cores in FP32 take {cuda_ns} of kernel time and run {value} of the time; in {precision} this GPU's tensor cores reach {faster} times that rate.
-- says: {products} on CUDA cores in FP32 take {cuda_ns} of kernel time and run {value} of the time: {product_pct} of all products.
-- clear: Products on CUDA cores in FP32 take {value} of the time.
-- advice: [convolutions, PyTorch, channels last] Give convolutions numbers of channels that are multiples of 4: cuDNN computes others on CUDA cores, although TF32 is allowed (`torch.backends.cudnn.allow_tf32`, on by default).
-- advice: [convolutions, PyTorch, not channels last] Give convolutions numbers of channels that are multiples of 4, and `model.to(memory_format=torch.channels_last)`: cuDNN computes others on CUDA cores, although TF32 is allowed (`torch.backends.cudnn.allow_tf32`, on by default).
-- advice: [convolutions, not PyTorch] -> tf32
-- advice: [TF32] -> tf32
-- advice: [TF32 or convolutions, not 16-bit products] -> sixteen_bits
-- advice: [FP16] -> sixteen_bits
-- advice: Use sizes that are multiples of 8 (FP16, BF16) or 4 (TF32): these reach tensor cores in all library versions.
-- change: precision={precision}
-- source: PyTorch TensorBoard plugin data.py; nsys-ai tensor_core_usage; PyTorch tuning guide. Names beyond Ampere (nvjet, wgmma, tcgen05) and share of the time: ours
SELECT 0::DOUBLE AS value, 'Most matrix products compute in FP64, which this rule does not judge.' AS unjudged,
    NULL AS cause, 'Matrix products' AS products, NULL AS saving_ns, 0 AS cuda_ns,
    100.0 * 0 / nullif(all_ns, 0) AS product_pct, NULL AS kernel, NULL AS precision, NULL AS faster, NULL AS evidence
FROM finding_window CROSS JOIN (
    SELECT sum(sums.ns) AS all_ns, count(*) FILTER (unit IS DISTINCT FROM 'tensor' OR bits = 64) AS others
    FROM finding_kernel_sum AS sums JOIN product_name USING (name_id)
) WHERE finding_window.ns > 0 AND others = 0;

WITH board AS (
    SELECT gpu.gpu_id, CASE WHEN cc >= 8 THEN 'TF32' WHEN cc >= 7 THEN 'FP16' END AS precision,
        CASE WHEN cc >= 8 THEN tf32 ELSE fp16 END / fp32 AS faster
    FROM (
        SELECT *, TRY_CAST(compute_capability AS DOUBLE) AS cc FROM gpu
        WHERE NOT coalesce(chip IN ('TU116', 'TU117'), false)
    ) AS gpu JOIN gpu_peak_columns USING (gpu_id)
), ran AS (
    SELECT device_id, name_id, sum(ns)::BIGINT AS ns, sum(launches)::BIGINT AS launches
    FROM finding_kernel_sum GROUP BY device_id, name_id
), double AS (
    SELECT coalesce(sum(ns), 0) AS double_ns FROM ran JOIN product_name USING (name_id) WHERE bits = 64
), product AS (
    SELECT ran.*, class, coalesce(unit, 'unknown') AS unit, precision, faster FROM ran JOIN product_name USING (name_id)
    LEFT JOIN board ON gpu_id = device_id WHERE bits IS DISTINCT FROM 64
), total AS (
    SELECT coalesce(sum(ns), 0) AS all_ns, coalesce(sum(ns) FILTER (unit = 'unknown'), 0) AS unknown_ns,
        coalesce(sum(ns) FILTER (unit = 'cuda' AND precision IS NOT NULL), 0) AS with_ns,
        coalesce(sum(ns) FILTER (unit = 'cuda' AND precision IS NULL), 0) AS without_ns,
        2 * sum(ns) FILTER (unit = 'cuda' AND class = 'convolution') > sum(ns) FILTER (unit = 'cuda') AS is_convolution,
        arg_max(precision, ns) FILTER (unit = 'cuda') AS precision, arg_max(faster, ns) FILTER (unit = 'cuda') AS faster
    FROM product
), slow AS MATERIALIZED (  -- kernels that overlap count once
    SELECT device_id, start_ns, end_ns FROM selected_kernel
    WHERE name_id IN (SELECT name_id FROM product WHERE unit = 'cuda' AND precision IS NOT NULL)
), taken AS (SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns FROM finding_union('slow')
    WHERE EXISTS (FROM slow)
), on_cuda AS (
    SELECT kernel, any_value(readable) AS name, sum(ns)::BIGINT AS ns,
        sum(launches)::BIGINT AS launches
    FROM product JOIN kernel_key USING (name_id) WHERE unit = 'cuda' GROUP BY kernel ORDER BY ns DESC, kernel LIMIT 10
), shown AS (
    SELECT {'name': name, 'ns': ns, 'count': launches, 'kernel': kernel} AS piece FROM on_cuda
)
SELECT CASE WHEN without_ns > with_ns THEN NULL
        WHEN greatest(double_ns, unknown_ns) > (all_ns + double_ns) / 2 AND 20 * taken.ns < finding_window.ns THEN NULL
        WHEN 100 * with_ns < $least_pct::DOUBLE * (all_ns - unknown_ns) THEN 0
        ELSE 100.0 * taken.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN without_ns > with_ns
            THEN 'This GPU has no tensor cores, or the report does not tell its compute capability.'
        WHEN double_ns >= unknown_ns THEN 'Most matrix products compute in FP64, which this rule does not judge.'
        ELSE 'The names of most matrix products do not tell whether they run on tensor cores.' END AS unjudged,
    CASE WHEN precision = 'TF32' AND is_convolution THEN 'convolutions' ELSE precision END AS cause,
    CASE WHEN is_convolution THEN 'Convolutions' ELSE 'Matrix products' END AS products,
    CASE WHEN faster > 1 THEN taken.ns * (1 - 1 / faster) END::BIGINT AS saving_ns,
    with_ns::BIGINT AS cuda_ns,
    100.0 * with_ns / nullif(all_ns - unknown_ns, 0) AS product_pct,
    (SELECT name FROM on_cuda ORDER BY ns DESC, kernel LIMIT 1) AS kernel, precision, faster,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.kernel) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN taken CROSS JOIN double;
