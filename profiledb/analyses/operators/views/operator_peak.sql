-- Roofs of the GPU that ran the operators.
-- includes: selection, peak

-- The GPU with the most kernel time of the selection and its roofs by precision; NULL if unknown.
CREATE OR REPLACE VIEW operator_roof AS
WITH used AS (
    SELECT arg_max(device_id, ns) AS gpu_id
    FROM (SELECT device_id, sum(end_ns - start_ns) AS ns FROM selected_kernel GROUP BY device_id)
), peak AS (
    SELECT 'fp64' AS precision, * FROM gpu_peak('fp64') UNION ALL SELECT 'fp32', * FROM gpu_peak('fp32')
    UNION ALL SELECT 'tf32', * FROM gpu_peak('tf32') UNION ALL SELECT 'fp16', * FROM gpu_peak('fp16')
    UNION ALL SELECT 'bf16', * FROM gpu_peak('bf16') UNION ALL SELECT 'fp8', * FROM gpu_peak('fp8')
)
SELECT precision, peak.name AS gpu, peak_flops_per_s, source AS peak_from, peak_bytes_per_s
FROM peak JOIN used USING (gpu_id) JOIN gpu_bandwidth USING (gpu_id);
