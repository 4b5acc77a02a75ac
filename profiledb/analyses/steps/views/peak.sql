-- Peaks of GPUs, without sparsity.
-- includes: ncu

-- Tensor core peaks of GPUs whose data sheet uses another clock than the highest one in reports, or a lower rate than
-- their chip has: dense TFLOP/s from NVIDIA's data sheets, halved if they include sparsity. The first pattern that
-- matches the product name holds; H20 is no H200, and L4 no L40. H800 computes like H100, and A800 like A100.
CREATE OR REPLACE VIEW nvidia_peak AS
SELECT * FROM (VALUES
    (1, '\bH[18]00\b.*PCIe', 756.5, 378.0, 1513.0), (2, '\bH[12]00\b.*NVL', 835.5, 417.5, 1670.5),
    (3, '\b(H[128]00|GH200)\b', 989.5, 494.7, 1979.0), (4, '\bH20\b', 148.0, 74.0, 296.0),
    (5, '\bGB[23]00\b', 2500.0, 1250.0, 5000.0), (6, '\bB200\b', 2250.0, 1100.0, 4500.0),
    (7, '\bB300\b', 2250.0, 1125.0, 4500.0), (8, '\bA[18]00\b', 312.0, 156.0, NULL),
    (9, '\bL40S\b', 362.05, 183.0, 733.0), (10, '\bL40\b', 181.05, 90.5, 362.0),
    (11, '\bL20\b', 119.5, 59.8, 239.0), (12, '\bL4\b', 121.0, 60.0, 242.5)
) AS sheet (place, pattern, half, tf32, fp8);

-- A trace tells no clock of GPUs of AMD and Intel, so all their peaks come from data sheets: FP32 and FP64 are those
-- of matrix units where there are any. AMD: "AMD Instinct MI210", "MI250", "MI250X", "MI300A", "MI300X", "MI325X",
-- "MI350X" and "MI355X Accelerator Data Sheet"; a program sees half of an MI250 or MI250X, one of its two dies. They
-- equal units times FLOPs per cycle times the highest clock: 304 × 2,048 × 2.1 GHz for FP16 on MI300X, 256 × 4,096 ×
-- 2.4 GHz on MI355X. Intel: "Data Center GPU Max Series Product Brief"; vector and matrix engines times 32 (FP64,
-- FP32), 256 (TF32) or 512 (FP16, BF16) FLOPs per cycle at 1.6 GHz (1550: 1,024 engines, 512 of which are a stack,
-- which programs see as a GPU of 64 GB) and 1.55 GHz (1100: 448). Arc: half of the INT8 TOPS of the product page.
CREATE OR REPLACE VIEW sheet_peak AS
SELECT place, pattern, gigabytes, unnest(['fp16', 'bf16', 'tf32', 'fp8', 'fp32', 'fp64']) AS precision,
    unnest([half, half, tf32, fp8, fp32, fp64]) AS tflops
FROM (
    SELECT *, NULL AS fp32, NULL AS fp64, NULL AS gigabytes FROM nvidia_peak
    UNION ALL BY NAME FROM (VALUES
        (101, 'MI355X', 2516.6, NULL, 5033.2, 157.3, 78.6, NULL),
        (102, 'MI350X', 2306.9, NULL, 4613.7, 144.2, 72.1, NULL),
        (103, 'MI3(00X|25X)', 1307.4, 653.7, 2614.9, 163.4, 163.4, NULL),
        (104, 'MI300A', 980.6, 490.3, 1961.2, 122.6, 122.6, NULL),
        (105, 'MI250X', 191.5, NULL, NULL, 47.9, 47.9, NULL),
        (106, 'MI2(50|10)\b', 181.0, NULL, NULL, 45.3, 45.3, NULL),
        (110, 'GPU Max 1550', 419.4, 209.7, NULL, 26.2, 26.2, 80),
        (111, 'GPU Max 1550', 838.9, 419.4, NULL, 52.4, 52.4, NULL),
        (112, 'GPU Max 1100', 355.5, 177.7, NULL, 22.2, 22.2, NULL),
        (120, '\bArc\b.*\bA770\b', 131.0, NULL, NULL, NULL, NULL, NULL),
        (121, '\bArc\b.*\bA750\b', 114.5, NULL, NULL, NULL, NULL, NULL),
        (122, '\bArc\b.*\bB580\b', 116.5, NULL, NULL, NULL, NULL, NULL),
        (123, '\bArc\b.*\bB570\b', 101.5, NULL, NULL, NULL, NULL, NULL)
    ) AS sheet (place, pattern, half, tf32, fp8, fp32, fp64, gigabytes)
);

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

-- Peak of each GPU of the report in a precision: from the data sheet, else SMs times FLOPs per cycle times the highest
-- clock; NULL if neither is known. Tensor cores of a GeForce accumulate in FP32 at half their rate.
CREATE OR REPLACE MACRO gpu_peak(wanted) AS TABLE
WITH rate AS (
    SELECT gpu_id, name, sm_count, clock_hz,
        flop * CASE WHEN is_tensor AND name ILIKE '%geforce%' THEN 0.5 ELSE 1 END AS flop
    FROM gpu LEFT JOIN sm_flop ON cc = compute_capability AND precision = wanted
), sheet AS (
    SELECT gpu_id, arg_min(tflops, place) AS tflops FROM gpu JOIN sheet_peak ON regexp_matches(name, pattern)
        AND coalesce(memory_bytes <= gigabytes * 1e9, gigabytes IS NULL)
    WHERE precision = wanted AND tflops IS NOT NULL GROUP BY gpu_id
)
SELECT gpu_id, name, coalesce(tflops * 1e12, sm_count * flop * clock_hz) AS peak_flops_per_s,
    CASE WHEN tflops IS NOT NULL THEN 'data sheet'
        WHEN sm_count * flop * clock_hz IS NOT NULL
            THEN format('{} SMs × {:g} FLOP × {:g} GHz', sm_count, flop, clock_hz / 1e9)
    END AS source
FROM rate LEFT JOIN sheet USING (gpu_id);

-- Short form of a program's precision (torch.bfloat16, fp16-mixed); NULL if unknown.
CREATE OR REPLACE MACRO short_precision(text) AS CASE
    WHEN regexp_matches(text, 'bf16|bfloat16', 'i') THEN 'bf16'
    WHEN regexp_matches(text, 'fp8|float8|e4m3|e5m2', 'i') THEN 'fp8'
    WHEN regexp_matches(text, 'fp16|float16|half', 'i') THEN 'fp16'
    WHEN regexp_matches(text, 'tf32', 'i') THEN 'tf32'
    WHEN regexp_matches(text, 'fp64|float64|double', 'i') THEN 'fp64'
    WHEN regexp_matches(text, 'fp32|float32|single', 'i') THEN 'fp32'
END;
