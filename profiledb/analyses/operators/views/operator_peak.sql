-- Roofs of the GPU that ran the operators.
-- includes: selection, peak

-- Device memory bandwidth, TB/s, and FP32 of the CUDA cores, dense TFLOP/s, from the data sheets that peak.sql names: a
-- trace has neither bandwidth nor clock. The first pattern that matches the product name holds; half of an MI250 or
-- of a Max 1550 is a GPU of its own.
CREATE OR REPLACE VIEW sheet_roof AS
SELECT * FROM (VALUES
    (1, '\bH100\b.*PCIe', 2.0, 51.0), (2, '\bH100\b.*NVL', 3.9, 60.0), (3, '\bH200\b.*NVL', 4.8, 60.0),
    (4, '\bH200\b', 4.8, 67.0), (5, '\bH[18]00\b', 3.35, 67.0), (6, '\bH20\b', 4.0, 44.0), (7, '\bB200\b', 8.0, NULL),
    (8, '\bA[18]00\b.*80GB PCIe|\bA100 80GB PCIe', 1.935, 19.5), (9, '\bA[18]00\b.*80GB', 2.039, 19.5),
    (10, '\bA100\b.*40GB', 1.555, 19.5), (11, '\bL40S\b', 0.864, 91.6), (12, '\bL40\b', 0.864, 90.5),
    (13, '\bL4\b', 0.3, 30.3), (14, '\bA40\b', 0.696, 37.4), (15, '\bA10G\b', 0.6, NULL), (16, '\bA10\b', 0.6, 31.2),
    (17, '\bV100\b.*PCIe', 0.9, 14.0), (18, '\bV100\b', 0.9, 15.7), (19, '\bT4\b', 0.32, 8.1),
    (20, '\bRTX 4090\b', 1.008, 82.6), (21, '\bRTX 3090\b', 0.936, 35.6),
    (101, 'MI35[05]X', 8.0, NULL), (102, 'MI325X', 6.0, NULL), (103, 'MI300[AX]', 5.3, NULL),
    (104, 'MI2(10|50)', 1.638, NULL),
    (110, 'GPU Max 1550', 1.638, NULL), (111, 'GPU Max 1100', 1.229, NULL), (120, '\bArc\b.*\bA770\b', 0.56, NULL),
    (121, '\bArc\b.*\bA750\b', 0.512, NULL), (122, '\bArc\b.*\bB580\b', 0.456, NULL),
    (123, '\bArc\b.*\bB570\b', 0.38, NULL)
) AS sheet (place, pattern, tb_per_s, fp32_tflops);

-- The GPU with the most kernel time of the selection and its roofs by precision; NULL if unknown.
CREATE OR REPLACE VIEW operator_roof AS
WITH used AS (
    SELECT arg_max(device_id, ns) AS gpu_id
    FROM (SELECT device_id, sum(end_ns - start_ns) AS ns FROM selected_kernel GROUP BY device_id)
), peak AS (
    SELECT 'fp64' AS precision, * FROM gpu_peak('fp64') UNION ALL SELECT 'fp32', * FROM gpu_peak('fp32')
    UNION ALL SELECT 'tf32', * FROM gpu_peak('tf32') UNION ALL SELECT 'fp16', * FROM gpu_peak('fp16')
    UNION ALL SELECT 'bf16', * FROM gpu_peak('bf16') UNION ALL SELECT 'fp8', * FROM gpu_peak('fp8')
), sheet AS (
    SELECT gpu_id, arg_min(tb_per_s, place) AS tb_per_s, arg_min(fp32_tflops, place) AS fp32_tflops
    FROM gpu JOIN sheet_roof ON regexp_matches(name, pattern) GROUP BY gpu_id
)
SELECT precision, peak.name AS gpu,
    coalesce(peak_flops_per_s, CASE WHEN precision = 'fp32' THEN fp32_tflops * 1e12 END) AS peak_flops_per_s,
    coalesce(source, CASE WHEN precision = 'fp32' AND fp32_tflops IS NOT NULL THEN 'data sheet' END) AS peak_from,
    coalesce(memory_bandwidth_bytes_per_s, tb_per_s * 1e12) AS peak_bytes_per_s
FROM peak JOIN used USING (gpu_id) JOIN gpu USING (gpu_id) LEFT JOIN sheet USING (gpu_id);
