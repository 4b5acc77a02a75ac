-- title: Model FLOPs utilization
-- One row: FLOPs that the model needs per step, over the step time and the dense peak of the GPUs that ran kernels.
-- FLOPs and precision come from the parameters, else from the sidecar (keys flops_per_step and precision of
-- NAME.meta.json). The program's FP32 is TF32 if most of its matrix product and convolution time is in tensor core
-- kernels in 32 bits. Steps are those of rank 1 of `iterations` without warm-up; the step time is the median on the CPU
-- or on the GPU, whichever is longer: a CPU that does not wait for the GPU finishes early. Unknown inputs leave the
-- figure empty. So does a share above 105 %, which is impossible: `contradiction` states it and its inputs.
-- page: phases
-- prefetch: part
-- needs: kernel
-- includes: selection, sidecar, ranges, peak, share, tensor
-- selects: part, mode
-- once: steps
-- param: flops =  FLOPs per step on all GPUs together
-- param: precision =  fp64, fp32, tf32, bf16, fp16 or fp8; bf16 if nothing else is known
-- param: step_ns =  step time in ns, instead of the measured one
-- column: mfu_pct | % | .2f | FLOPs per step over the step time, as a share of the peak
-- column: flops_per_step | FLOP | | parameter, or value in the sidecar
-- column: flops_from | text | | `given`, or `meta` for the sidecar
-- column: step_ns | ns | .1f | step time
-- column: step_from | text | | `given`, or the longer side: `host`, `gpu`
-- column: steps | count | | number of steps behind the median
-- column: flops_per_s | FLOP/s | | FLOPs per step over the step time
-- column: precision | text | | precision of the peak
-- column: precision_from | text | | `given`, `meta`, `kernels` if they prove TF32, or `assumed`
-- column: gpus | count | | number of GPUs that ran kernels of the selection
-- column: gpu | text | | product names of these GPUs
-- column: peak_flops_per_s | FLOP/s | | their dense peaks together; empty if one is unknown
-- column: peak_from | text | | source of a peak: the data sheet, or SMs x FLOPs per cycle x highest clock
-- column: contradiction | text | | reason for an empty MFU although all inputs are known: the impossible share, and its FLOPs, step and precision
WITH stated AS (
    SELECT $flops::DOUBLE AS given_flops, TRY_CAST(meta_value(['flops_per_step']) AS DOUBLE) AS meta_flops,
        short_precision($precision::VARCHAR) AS given, short_precision(meta_value(['precision', 'dtype'])) AS of_meta
), product AS (
    SELECT sum(duration_ns) AS ns, sum(duration_ns) FILTER (unit = 'tensor' AND bits = 32) AS tf32_ns
    FROM (SELECT name_id, end_ns - start_ns AS duration_ns FROM selected_kernel) JOIN product_name USING (name_id)
), asked AS (
    SELECT coalesce(given_flops, meta_flops) AS flops,
        CASE WHEN given_flops IS NOT NULL THEN 'given' WHEN meta_flops IS NOT NULL THEN 'meta' END AS flops_from,
        of_meta = 'fp32' AND coalesce(2 * tf32_ns > ns, false) AS is_tf32,
        CASE WHEN $precision::VARCHAR IS NOT NULL THEN given WHEN is_tf32 THEN 'tf32' ELSE coalesce(of_meta, 'bf16')
            END AS precision,
        CASE WHEN $precision::VARCHAR IS NOT NULL THEN 'given' WHEN is_tf32 THEN 'kernels'
            WHEN of_meta IS NOT NULL THEN 'meta' ELSE 'assumed' END AS precision_from
    FROM stated CROSS JOIN product
), measured AS (
    SELECT median(cpu_ns) AS cpu_ns, median(gpu_ns) AS gpu_ns, nullif(count(*), 0) AS steps
    FROM selected_pass(selected_mode()) WHERE rank = 1
), step AS (
    SELECT coalesce($step_ns::DOUBLE, greatest(cpu_ns, gpu_ns)) AS step_ns, steps, CASE
        WHEN $step_ns::DOUBLE IS NOT NULL THEN 'given' WHEN gpu_ns > cpu_ns THEN 'gpu'
        WHEN cpu_ns IS NOT NULL THEN 'host'
        END AS step_from
    FROM measured
), used AS (
    SELECT DISTINCT device_id AS gpu_id FROM selected_kernel WHERE device_id IS NOT NULL
), peak AS (
    SELECT count(*) AS gpus, string_agg(DISTINCT name, ', ' ORDER BY name) AS gpu,
        CASE WHEN count(peak_flops_per_s) = count(*) THEN sum(peak_flops_per_s) END AS peak_flops_per_s,
        string_agg(DISTINCT source, ', ' ORDER BY source) AS peak_from
    FROM used LEFT JOIN gpu_peak((SELECT precision FROM asked)) USING (gpu_id)
), whole AS (
    SELECT *, flops / nullif(step_ns, 0) * 1e9 AS flops_per_s FROM asked CROSS JOIN step CROSS JOIN peak
)
SELECT share_of_peak(flops_per_s, peak_flops_per_s) AS mfu_pct, flops AS flops_per_step, flops_from, step_ns, step_from,
    steps, flops_per_s, precision, precision_from, gpus, gpu, peak_flops_per_s, peak_from,
    peak_contradiction(flops_per_s, peak_flops_per_s, 'FLOP', concat(
            upper(precision), CASE WHEN gpus > 1 THEN ' of ' || gpus || ' GPUs' END, ', ', peak_from
        ),
        format('From {:.4g} TFLOP in a step of {:.4g} ms: the FLOPs, the step or the precision is wrong', flops / 1e12,
            step_ns / 1e6) || CASE precision WHEN 'fp32' THEN ', or FP32 work ran as TF32' ELSE '' END) AS contradiction
FROM whole;
