-- title: Double precision
-- question: Does the program compute in FP64?
-- The time of kernels whose names indicate FP64 (dgemm, d884, double), as a share of the active span (first to last
-- operation of each GPU). In a name that also has a smaller type, `double` counts only as a pointer or as the first
-- argument of a template: elsewhere it is a number passed to the kernel, like the learning rate of a fused optimizer or
-- the mean of random numbers. Simulations need FP64; networks rarely do, and get it from NumPy arrays, which have 64
-- bits by default. So it is no choice if the program trains a network. If FP64 then takes half of the kernel time or
-- more, the finding precedes others about kernels, all of which take less time in FP32. The saving supposes TF32 for
-- products (FP32 before Ampere) at the peaks of this GPU, and half of the time for other kernels, which move twice the
-- bytes.
-- needs: kernel
-- includes: finding, work, tensor, peak, program
-- selects: part
-- once: span, names, sums, products, signs
-- parts: kernels
-- weight: low
-- unit: %
-- fires: above
-- param: threshold = 10 fires at or above this share of the active span
-- column: double_ns | ns | | kernel time of these kernels: those that overlap count each
-- column: product_pct | % | .1f | share of matrix products in it
-- column: kernel | name | | the one with the most time
-- column: precision | text | | precision of products that the saving supposes
-- says: Kernels in FP64 take {double_ns} of kernel time and run {value} of the time, {product_pct} of it in matrix products, mostly in {kernel}.
-- says: Kernels in FP64 take {double_ns} of kernel time and run {value} of the time, mostly in {kernel}.
-- clear: Kernels in FP64 take {value} of the time.
-- advice: [PyTorch] Convert inputs and model once (`.float()`, `dtype=torch.float32`) unless you need FP64: arrays of NumPy and Python numbers become FP64 tensors.
-- advice: [else, JAX or XLA] Compute in FP32 (`jax_enable_x64` off, `dtype=jnp.float32`) unless you need FP64.
-- advice: [else, CuPy or Numba] Convert arrays once (`astype(numpy.float32)`) unless you need FP64: arrays of NumPy and Python numbers are FP64.
-- advice: [else, Fortran] Declare `real(4)` unless you need FP64: `real(8)`, `1.0d0` and `-r8` are double precision.
-- advice: [else, products] Multiply in FP32 or TF32 (`sgemm` instead of `dgemm`) unless you need FP64.
-- advice: [else] Write `1.0f` and `sqrtf` unless you need FP64: constants such as `1.0` and functions such as `sqrt` are double in C.
-- advice: [PyTorch, products] Let products of FP32 use TF32 where ten bits of precision do: `torch.set_float32_matmul_precision("high")`. Without it they may take as long as in FP64.
-- advice: If only sums need FP64, compute in FP32 and accumulate in FP64.
-- change: without_fp64={precision}
-- source: ours; peaks of NVIDIA's data sheets. Pair on H100: a network in FP64 takes ten times as long as in TF32
SELECT 0::DOUBLE AS value, NULL AS saving_ns, NULL AS is_choice, false AS is_cause, 0 AS double_ns,
    NULL AS product_pct, 'FP32' AS precision, NULL AS cause, NULL AS kernel, NULL AS evidence
FROM finding_window WHERE ns > 0 AND NOT EXISTS (FROM double_kernel);

WITH double_name AS MATERIALIZED (FROM double_kernel), board AS (
    SELECT gpu_id, any_value(peak_flops_per_s) FILTER (precision = 'tf32') AS tf32,
        any_value(peak_flops_per_s) FILTER (precision = 'fp64') / tf32 AS cuda_part,
        CASE WHEN tf32 IS NULL THEN 'FP32' ELSE 'TF32' END AS precision
    FROM gpu_peaks GROUP BY gpu_id
), ran AS (
    SELECT device_id, name_id, is_product, sum(ns)::BIGINT AS ns, sum(launches)::BIGINT AS launches,
        any_value(precision) AS precision,
        -- tensor cores compute FP64 at twice the rate of CUDA cores
        any_value(CASE WHEN is_product THEN 1 - least(1, cuda_part * CASE unit WHEN 'tensor' THEN 2 ELSE 1 END)
            ELSE 0.5 END) AS saved
    FROM finding_kernel_sum JOIN double_name USING (name_id) LEFT JOIN board ON gpu_id = device_id
    GROUP BY device_id, name_id, is_product
), total AS (
    SELECT coalesce(sum(ns), 0) AS ns, coalesce(sum(ns * saved), 0) AS saved_ns,
        coalesce(any_value(precision), 'FP32') AS precision,
        100.0 * sum(ns) FILTER (is_product) / nullif(sum(ns), 0) AS product_pct
    FROM ran
), network AS (
    SELECT count(DISTINCT trait IN ('PyTorch', 'JAX', 'XLA', 'TensorFlow')) = 2 AS trains FROM program_sign
    WHERE trait IN ('PyTorch', 'JAX', 'XLA', 'TensorFlow', 'training')
), slow AS MATERIALIZED (  -- kernels that overlap count once
    SELECT device_id, start_ns, end_ns FROM selected_kernel WHERE name_id IN (SELECT name_id FROM double_name)
), taken AS (
    SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns FROM finding_union('slow') WHERE EXISTS (FROM slow)
), by_name AS (
    SELECT kernel, any_value(readable) AS name, sum(ns)::BIGINT AS ns,
        sum(launches)::BIGINT AS launches
    FROM ran JOIN kernel_key USING (name_id) GROUP BY kernel ORDER BY ns DESC, kernel LIMIT 10
)
SELECT 100.0 * taken.ns / nullif(finding_window.ns, 0) AS value,
    (taken.ns * saved_ns / nullif(total.ns, 0))::BIGINT AS saving_ns,
    CASE WHEN total.ns > 0 THEN NOT trains END AS is_choice,
    trains AND total.ns > 0 AND 2 * total.ns >= (SELECT sum(ns) FROM finding_kernel_sum) AS is_cause,
    total.ns::BIGINT AS double_ns,
    product_pct, total.precision, CASE WHEN product_pct >= 50 THEN 'products' END AS cause,
    (SELECT name FROM by_name ORDER BY ns DESC, kernel LIMIT 1) AS kernel,
    (
        SELECT list({'name': name, 'ns': ns, 'count': launches, 'kernel': kernel} ORDER BY ns DESC, kernel)
        FROM by_name
    ) AS evidence
FROM finding_window CROSS JOIN taken CROSS JOIN total CROSS JOIN network;
