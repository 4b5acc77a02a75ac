-- Roofs of the GPU that ran the operators.
-- includes: selection, peak

-- The GPU with the most kernel time of the selection and its roofs by precision; NULL if unknown.
CREATE OR REPLACE VIEW operator_roof AS
WITH used AS (
    SELECT arg_max(device_id, ns) AS gpu_id
    FROM (SELECT device_id, sum(end_ns - start_ns) AS ns FROM selected_kernel GROUP BY device_id)
)
SELECT precision, gpu.name AS gpu, peak_flops_per_s, source AS peak_from, peak_bytes_per_s
FROM gpu_peaks JOIN used USING (gpu_id) JOIN gpu USING (gpu_id) JOIN gpu_bandwidth USING (gpu_id);
