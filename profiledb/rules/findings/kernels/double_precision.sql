-- title: Double precision
-- question: Does the program compute in FP64?
-- The time of kernels whose names indicate FP64 (dgemm, d884, double, CuPy's float64), as a share of the active span
-- (first to last operation of each GPU). In a name that also has a smaller type, `double` counts only as a pointer or
-- as the first argument of a template: elsewhere it is a number passed to the kernel, like the learning rate of a fused
-- optimizer or the mean of random numbers. Kernels count, too, that directly follow in the stream and join or copy
-- numbers of eight bytes, or cast: they move FP64. Simulations need FP64; networks rarely do, and get it from NumPy
-- arrays, which have 64 bits by default. So it is no choice if the program trains a network, or if a framework of
-- networks multiplies in fewer bits. If FP64 then takes a quarter of the kernel time or more, the finding precedes
-- others about kernels, all of which take less time in FP32. The saving supposes TF32 for products (FP32 before Ampere)
-- at the peaks of this GPU, half of the time for other kernels, which move twice the bytes, and no cast. The cause is
-- `moved` if joins, copies and casts take a quarter of the time.
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
-- column: product_pct | % | .1f | share of matrix products, including those of convolutions, in it
-- column: products | text | | what these are: matrix products, convolutions, or both
-- column: kernel | name | | the one with the most time
-- column: precision | text | | precision of products that the saving supposes
-- says: Kernels in FP64 take {double_ns} of kernel time and run {value} of the time, {product_pct} of it in {products}, mostly in {kernel}.
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
-- change: [not moved] without_fp64={precision}
-- source: ours; peaks of NVIDIA's data sheets. Pair on H100: a network in FP64 takes ten times as long as in TF32
SELECT 0::DOUBLE AS value, NULL AS saving_ns, NULL AS is_choice, false AS is_cause, 0 AS double_ns,
    NULL AS product_pct, NULL AS products, 'FP32' AS precision, NULL AS cause, NULL AS kernel, NULL AS evidence
FROM finding_window WHERE ns > 0 AND NOT EXISTS (FROM double_kernel);

WITH double_name AS MATERIALIZED (FROM double_kernel), board AS (
    SELECT gpu_id, fp64 / tf32 AS cuda_part, CASE WHEN tf32 IS NULL THEN 'FP32' ELSE 'TF32' END AS precision
    FROM gpu_peak_columns
), mover AS (
    SELECT name_id, NOT eight AS casts FROM (
        SELECT name_id, regexp_matches(demangled, 'OpaqueType<(\(unsigned int\))?8u?>') AS eight, demangled
        FROM kernel_name WHERE class = 'copy'
    ) WHERE (eight OR contains(demangled, 'LoadWithCast')) AND name_id NOT IN (SELECT name_id FROM double_name)
), placed AS (
    SELECT device_id, stream_id, kernel_id, name_id, start_ns, end_ns, casts,
        sum(CASE WHEN mover.name_id IS NULL THEN 1 ELSE 0 END) OVER (
            PARTITION BY device_id, stream_id ORDER BY start_ns, kernel_id ROWS UNBOUNDED PRECEDING
        ) AS run
    FROM selected_kernel LEFT JOIN mover USING (name_id)
), moved AS MATERIALIZED (  -- what directly follows a kernel in FP64
    SELECT placed.* FROM placed SEMI JOIN (
        SELECT device_id, stream_id, run FROM placed
        WHERE casts IS NULL AND name_id IN (SELECT name_id FROM double_name)
    ) AS led USING (device_id, stream_id, run)
    WHERE casts IS NOT NULL
), ran AS (
    SELECT device_id, name_id, is_product, sum(ns)::BIGINT AS ns, sum(launches)::BIGINT AS launches,
        any_value(precision) AS precision, false AS moves,
        -- tensor cores compute FP64 at twice the rate of CUDA cores
        any_value(CASE WHEN is_product THEN 1 - least(1, cuda_part * CASE unit WHEN 'tensor' THEN 2 ELSE 1 END)
            ELSE 0.5 END) AS saved
    FROM finding_kernel_sum JOIN double_name USING (name_id) LEFT JOIN board ON gpu_id = device_id
    GROUP BY device_id, name_id, is_product
    UNION ALL
    SELECT device_id, name_id, false, sum(end_ns - start_ns)::BIGINT, count(*), any_value(precision), true,
        any_value(IF(casts, 1, 0.5))
    FROM moved LEFT JOIN board ON gpu_id = device_id GROUP BY device_id, name_id
), total AS (
    SELECT coalesce(sum(ns), 0) AS ns, coalesce(sum(ns * saved), 0) AS saved_ns,
        coalesce(any_value(precision), 'FP32') AS precision,
        100.0 * sum(ns) FILTER (is_product) / nullif(sum(ns), 0) AS product_pct,
        coalesce(4 * sum(ns) FILTER (moves) >= sum(ns), false) AS moves
    FROM ran
), network AS (
    SELECT bool_or(trait <> 'training') AND (bool_or(trait = 'training') OR coalesce(
            (SELECT sum(ns) FROM finding_kernel_sum JOIN product_name USING (name_id) WHERE bits < 64)
            > (SELECT coalesce(sum(ns) FILTER (is_product), 0) FROM ran), false)) AS narrow
    FROM program_sign WHERE trait IN ('PyTorch', 'JAX', 'XLA', 'TensorFlow', 'training')
), slow AS MATERIALIZED (  -- kernels that overlap count once
    SELECT device_id, start_ns, end_ns FROM selected_kernel WHERE name_id IN (SELECT name_id FROM double_name)
    UNION ALL SELECT device_id, start_ns, end_ns FROM moved
), taken AS (
    SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns FROM finding_union('slow') WHERE EXISTS (FROM slow)
), multiplied AS (
    SELECT CASE WHEN count(*) = 0 THEN NULL WHEN bool_and(class = 'convolution') THEN 'convolutions'
            WHEN bool_or(class = 'convolution') THEN 'matrix products and convolutions'
            ELSE 'matrix products' END AS kinds
    FROM ran JOIN kernel_key USING (name_id) WHERE is_product
), by_name AS (
    SELECT kernel, any_value(readable) AS name, sum(ns)::BIGINT AS ns,
        sum(launches)::BIGINT AS launches
    FROM ran JOIN kernel_key USING (name_id) GROUP BY kernel ORDER BY ns DESC, kernel LIMIT 10
)
SELECT 100.0 * taken.ns / nullif(finding_window.ns, 0) AS value,
    (taken.ns * saved_ns / nullif(total.ns, 0))::BIGINT AS saving_ns,
    CASE WHEN total.ns > 0 THEN NOT coalesce(narrow, false) END AS is_choice,
    coalesce(narrow, false) AND total.ns > 0 AND 4 * total.ns >= (SELECT sum(ns) FROM finding_kernel_sum) AS is_cause,
    total.ns::BIGINT AS double_ns,
    product_pct, multiplied.kinds AS products, total.precision,
    CASE WHEN product_pct >= 50 THEN 'products' WHEN moves THEN 'moved' END AS cause,
    (SELECT name FROM by_name ORDER BY ns DESC, kernel LIMIT 1) AS kernel,
    (
        SELECT list({'name': name, 'ns': ns, 'count': launches, 'kernel': kernel} ORDER BY ns DESC, kernel)
        FROM by_name
    ) AS evidence
FROM finding_window CROSS JOIN taken CROSS JOIN total CROSS JOIN network CROSS JOIN multiplied;
