-- Peaks of GPUs, without sparsity.
-- includes: ncu, gpu_sheet

-- FLOPs per SM and cycle by precision: a multiple of the tensor core or FMA rate (`sm_rate`), from a compute capability
-- on. FP32 and FP64 are those of the CUDA cores.
CREATE OR REPLACE VIEW sm_flop AS
SELECT cc, precision,
    times * CASE unit WHEN 'tensor' THEN tensor_flop WHEN 'fp32' THEN fp32_fma ELSE fp64_fma END AS flop,
    unit = 'tensor' AS is_tensor
FROM sm_rate JOIN (VALUES
    ('fp16', 'tensor', 1.0, 7.0), ('bf16', 'tensor', 1.0, 8.0), ('tf32', 'tensor', 0.5, 8.0),
    ('fp8', 'tensor', 2.0, 8.9),
    ('fp32', 'fp32', 2.0, 0.0), ('fp64', 'fp64', 2.0, 0.0)
) AS rate (precision, unit, times, from_cc) ON cc::DOUBLE >= from_cc;

-- The rows of data sheets that fit each GPU of the report. Patterns are compiled for each pair: GPUs of one kind count
-- once.
CREATE OR REPLACE VIEW gpu_on_sheet AS
SELECT unnest(ids) AS gpu_id, sheet.*
FROM (SELECT name, memory_bytes, list(gpu_id) AS ids FROM gpu GROUP BY ALL) AS kind
JOIN gpu_sheet AS sheet ON regexp_matches(name, pattern)
    AND coalesce(memory_bytes <= gigabytes * 1e9, gigabytes IS NULL);

-- Peak of each GPU of the report by precision: from the data sheet, else SMs times FLOPs per cycle times the highest
-- clock, which comes first for CUDA cores; NULL if neither is known. Tensor cores of a GeForce accumulate in FP32 at
-- half their rate.
CREATE OR REPLACE VIEW gpu_peaks AS
WITH wanted AS (
    SELECT gpu_id, name, sm_count, clock_hz, compute_capability,
        unnest(['fp64', 'fp32', 'tf32', 'fp16', 'bf16', 'fp8']) AS precision
    FROM gpu
), rate AS (
    SELECT gpu_id, wanted.precision, sm_count, clock_hz, is_tensor,
        flop * CASE WHEN is_tensor AND name ILIKE '%geforce%' THEN 0.5 ELSE 1 END AS flop
    FROM wanted LEFT JOIN sm_flop ON cc = compute_capability AND sm_flop.precision = wanted.precision
), sheet AS (
    SELECT gpu_id, precision, arg_min(tflops, place) AS tflops
    FROM (
        SELECT gpu_id, place, unnest(['fp16', 'bf16', 'tf32', 'fp8', 'fp32', 'fp64']) AS precision,
            unnest([half, half, tf32, fp8, fp32, fp64]) AS tflops
        FROM gpu_on_sheet
    ) WHERE tflops IS NOT NULL GROUP BY gpu_id, precision
), known AS (
    SELECT gpu_id, precision, sm_count, flop, clock_hz, sm_count * flop * clock_hz AS computed,
        CASE WHEN is_tensor OR computed IS NULL THEN tflops * 1e12 END AS from_sheet
    FROM rate LEFT JOIN sheet USING (gpu_id, precision)
)
SELECT gpu_id, precision, coalesce(from_sheet, computed) AS peak_flops_per_s,
    CASE WHEN from_sheet IS NOT NULL THEN 'data sheet'
        WHEN computed IS NOT NULL THEN format('{} SMs × {:g} FLOP × {:g} GHz', sm_count, flop, clock_hz / 1e9)
    END AS source
FROM known;

-- The same with a column for each of these precisions.
CREATE OR REPLACE VIEW gpu_peak_columns AS
SELECT gpu_id, any_value(peak_flops_per_s) FILTER (precision = 'fp64') AS fp64,
    any_value(peak_flops_per_s) FILTER (precision = 'fp32') AS fp32,
    any_value(peak_flops_per_s) FILTER (precision = 'tf32') AS tf32,
    any_value(peak_flops_per_s) FILTER (precision = 'fp16') AS fp16
FROM gpu_peaks GROUP BY gpu_id;

-- The peaks of one precision, with the names of the GPUs.
CREATE OR REPLACE MACRO gpu_peak(wanted) AS TABLE
SELECT gpu_id, name, peak_flops_per_s, source
FROM gpu LEFT JOIN (FROM gpu_peaks WHERE precision = wanted) USING (gpu_id);

-- Bandwidth of the memory of each GPU of the report, from the data sheet where the report has none; NULL if neither is
-- known.
CREATE OR REPLACE VIEW gpu_bandwidth AS
WITH sheet AS (
    SELECT gpu_id, arg_min(tb_per_s, place) AS tb_per_s FROM gpu_on_sheet WHERE tb_per_s IS NOT NULL GROUP BY gpu_id
)
SELECT gpu_id, coalesce(nullif(memory_bandwidth_bytes_per_s, 0), tb_per_s * 1e12) AS peak_bytes_per_s
FROM gpu LEFT JOIN sheet USING (gpu_id);

-- Short form of a program's precision (torch.bfloat16, fp16-mixed); NULL if unknown. It goes over a list, because a
-- subquery is planned once for each time that a macro names its argument.
CREATE OR REPLACE MACRO short_precision(text) AS list_transform([text], LAMBDA one: CASE
    WHEN regexp_matches(one, 'bf16|bfloat16', 'i') THEN 'bf16'
    WHEN regexp_matches(one, 'fp8|float8|e4m3|e5m2', 'i') THEN 'fp8'
    WHEN regexp_matches(one, 'fp16|float16|half', 'i') THEN 'fp16'
    WHEN regexp_matches(one, 'tf32', 'i') THEN 'tf32'
    WHEN regexp_matches(one, 'fp64|float64|double', 'i') THEN 'fp64'
    WHEN regexp_matches(one, 'fp32|float32|single', 'i') THEN 'fp32'
END)[1];
