-- title: Low precision unused
-- question: Do tensor cores compute in 16 bits or fewer?
-- The share of 16 bits or fewer, by kernel name, in the time of matrix products, convolutions and fused attention on
-- tensor cores. The value is 100 if products in 32 bits (TF32) take less than `least_pct` percent of the active span
-- (first to last operation of each GPU). FP64 does not count. The finding is low because another precision changes
-- results; the saving is half of the time in TF32, because 16 bits have twice its peak, and five sixths of that in
-- attention that computes three products in TF32 for each in FP32 (`product_passes`).
-- needs: kernel
-- includes: finding, work, tensor
-- selects: part
-- once: span, names, sums, products
-- parts: matmul (wide_ns), convolution (wide_ns), attention (wide_ns)
-- unit: %
-- fires: below
-- weight: low
-- param: threshold = 10 fires at or below this share in low precision
-- param: least_pct = 5 share of 32 bits in the active span below which the value is 100, percent
-- column: wide_ns | ns | | time of products in TF32 on tensor cores
-- column: wide_pct | % | .1f | share of this time in the active span
-- column: low_pct | % | .1f | share in 16 bits or fewer, if any
-- says: Tensor-core kernels run in TF32 for {wide_ns} ({wide_pct} of the time); {low_pct} of tensor-core time is in 16 bits or fewer.
-- says: Tensor-core kernels run in TF32 for {wide_ns} ({wide_pct} of the time), none in 16 bits or fewer.
-- clear: Tensor-core kernels in TF32 take {wide_pct} of the time.
-- advice: -> sixteen_bits
-- advice: [PyTorch, not channels last] For convolutions, also use `model.to(memory_format=torch.channels_last)`.
-- advice: [CUDA C++] On Hopper and later, FP8 through cuBLASLt or Transformer Engine is faster still.
-- change: precision=bf16
-- source: XProf op_stats_to_overview_page.cc (16-bit share below 10 %); 5 % of the time: ours
SELECT CASE WHEN unknown_ns <= all_ns THEN 100::DOUBLE END AS value,
    'The names of most products on tensor cores do not tell their precision.' AS unjudged, 0 AS saving_ns, 0 AS wide_ns,
    0::DOUBLE AS wide_pct, 100.0 * all_ns / nullif(all_ns, 0) AS low_pct, NULL AS evidence
FROM finding_window CROSS JOIN (
    SELECT coalesce(sum(sums.ns) FILTER (bits < 64), 0) AS all_ns,
        coalesce(sum(sums.ns) FILTER (bits IS NULL), 0) AS unknown_ns, count(*) FILTER (bits = 32) AS wide
    FROM finding_kernel_sum AS sums
    JOIN (FROM product_name WHERE unit = 'tensor' AND bits IS DISTINCT FROM 64) USING (name_id)
) WHERE finding_window.ns > 0 AND wide = 0;

WITH product AS (
    SELECT name_id, bits, sum(ns)::BIGINT AS ns, sum(launches)::BIGINT AS launches
    FROM finding_kernel_sum
    JOIN (FROM product_name WHERE unit = 'tensor' AND bits IS DISTINCT FROM 64) USING (name_id) GROUP BY ALL
), total AS (
    SELECT coalesce(sum(ns) FILTER (bits < 64), 0) AS all_ns, coalesce(sum(ns) FILTER (bits IS NULL), 0) AS unknown_ns,
        coalesce(sum(ns) FILTER (bits = 32), 0) AS wide_ns FROM product
), slow AS MATERIALIZED (  -- kernels that overlap count once
    SELECT device_id, start_ns, end_ns, passes FROM selected_kernel JOIN (
        SELECT name_id, product_passes(demangled) AS passes FROM product_name WHERE unit = 'tensor' AND bits = 32
    ) USING (name_id)
), taken AS (SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns FROM finding_union('slow')
    WHERE EXISTS (FROM slow)
), repeated AS MATERIALIZED (FROM slow WHERE passes > 1
), more AS (SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT // 3 AS ns FROM finding_union('repeated')
    WHERE EXISTS (FROM repeated)
), wide AS (
    SELECT kernel, any_value(readable) AS name, sum(ns)::BIGINT AS ns,
        sum(launches)::BIGINT AS launches
    FROM product JOIN kernel_key USING (name_id) WHERE bits = 32 GROUP BY kernel ORDER BY ns DESC, kernel LIMIT 10
), shown AS (
    SELECT {'name': name, 'ns': ns, 'count': launches, 'kernel': kernel} AS piece FROM wide
)
SELECT CASE WHEN unknown_ns > all_ns THEN NULL WHEN 100 * taken.ns < $least_pct::DOUBLE * finding_window.ns THEN 100.0
        WHEN wide_ns = 0 THEN 100.0
        ELSE 100.0 * (all_ns - wide_ns) / all_ns END AS value,
    'The names of most products on tensor cores do not tell their precision.' AS unjudged,
    taken.ns // 2 + more.ns AS saving_ns, taken.ns AS wide_ns,
    100.0 * taken.ns / nullif(finding_window.ns, 0) AS wide_pct,
    nullif(100.0 * (all_ns - wide_ns) / nullif(all_ns, 0), 0) AS low_pct,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.kernel) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN taken CROSS JOIN more;
