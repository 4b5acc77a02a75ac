-- title: FP64 arithmetic
-- question: Do kernels compute in FP64?
-- The share of the measured kernel time in which FP64 is busy: FP64 work as a share of its peak, if over 15 % while
-- FP32 is under 60 % of its own, as in the rule of Nsight Compute. A fix saves at most this time. The pipeline is slow
-- and may be used by mistake (a literal `1.0`, `double` in a formula).
-- needs: ncu_launch
-- includes: profile
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 3 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- says: FP64 arithmetic costs up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: FP64 arithmetic costs at most {value} of the measured kernel time.
-- advice: [PyTorch] Find what makes {kernel} compute in FP64: a tensor from NumPy or a Python number (`.float()` once).
-- advice: [else, CuPy or Numba] Find what makes {kernel} compute in FP64: arrays of NumPy are FP64 (`astype(numpy.float32)`), and so is a literal such as `1.0`.
-- advice: [else] Write the literals of {kernel} as `1.0f`, and compute in FP32 where the precision is enough.
-- source: Nsight Compute, SpeedOfLight_Roofline: FP64 over 15 % and FP32 under 60 % of the peak
WITH judged AS ( -- noqa: ST03
    SELECT launch_id, readable, ns, calls, format('FP64 at {:.0f} % of its peak', 100 * fp64) AS note,
        CASE WHEN fp64 > 0.15 AND coalesce(fp32, 0) < 0.6 THEN least(fp64, 1) WHEN fp64 IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
    JOIN (
        SELECT launch_id, max(flops_per_s / peak_flops_per_s) FILTER (precision = 'fp64') AS fp64,
            max(flops_per_s / peak_flops_per_s) FILTER (precision = 'fp32') AS fp32
        FROM ncu_scalar_work GROUP BY launch_id
    ) USING (launch_id)
)
FROM finding_gain('judged', 'Arithmetic was not measured: profile with `--set roofline`.');
