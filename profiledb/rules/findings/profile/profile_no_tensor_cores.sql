-- title: Matrix products without tensor cores
-- question: Do matrix products and attention use tensor cores?
-- The share of the measured kernel time that tensor cores would save: nine tenths of kernels of the classes matmul,
-- attention and convolution whose tensor pipe is under 1 % busy, on GPUs with tensor cores. At half their peak the same
-- work takes the rest.
-- needs: ncu_launch
-- includes: profile, launch
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 3 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- says: Tensor cores would save up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Tensor cores would save at most {value} of the measured kernel time.
-- advice: [not TF32 products, not 16-bit products] -> tf32
-- advice: -> sixteen_bits
-- advice: Use sizes that are multiples of 8: these reach tensor cores in all library versions.
-- source: PyTorch TensorBoard plugin data.py (tensor core ratio 0); nine tenths: our bound
WITH judged AS ( -- noqa: ST03
    SELECT launch_id, readable, ns, calls, format('tensor pipe {:.1f} % busy', busy) AS note,
        CASE WHEN class IN ('matmul', 'attention', 'convolution') AND busy < 1 THEN 0.9
            WHEN busy IS NOT NULL AND class IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
    JOIN (
        SELECT launch_id, max(value) AS busy
        FROM launch_metric(
            'sm__(pipe_tensor_cycles_active|inst_executed_pipe_tensor)\.avg\.pct_of_peak_sustained_(active|elapsed)')
        GROUP BY launch_id
    ) USING (launch_id) WHERE has_tensor_cores(cc, gpu_name)
)
SELECT * REPLACE (
    CASE WHEN unjudged IS NULL THEN NULL
        WHEN NOT EXISTS (FROM finding_launch WHERE coalesce(has_tensor_cores(cc, gpu_name), true))
            THEN 'This GPU has no tensor cores.'
        ELSE unjudged END AS unjudged)
FROM finding_gain(
    'judged', 'Tensor cores were not measured: profile with `--section ComputeWorkloadAnalysis`.');
