-- title: Kernel time and the roofline
-- One row per kernel, grid and block of the selection, most time first, with the Nsight Compute measurements of the
-- same kernel: time next to its cause. The Compute report of the same program is linked to the report, or named.
-- Kernels match by mangled name, else by full name without the parts that profilers write differently. Figures come
-- from the launch with the median duration, among launches of the same grid and block only. They hold under ncu's clock
-- control, and for that one launch: total, calls and shares come from the Systems report.
-- page: roofline_by_time
-- show: name 300, share_pct bar 104, total_ns, calls, class 184, grid 100, block 90, match 130
-- includes: selection, pair
-- selects: part
-- joins: ncu
-- needs: kernel
-- needs: ncu_launch
-- param: level = dram (dram, l2, l1) memory level of the traffic
-- param: precision = main (main, fp64, fp32, fp16, tensor) precision of the arithmetic; main is the one closest to its peak
-- param: limit =  at most this many rows
-- param: ncu =  the Compute report: its id, an id prefix, or its file name; the linked one by default
-- column: kernel | text | | number of the kernel in this report, as in the analysis `kernels`
-- column: name = Kernel | text | | readable name without templates and arguments
-- column: class | class | | kernel class
-- column: grid | text | | blocks in x, y and z
-- column: block | text | | threads per block in x, y and z
-- column: calls = Launches | count | | number of launches
-- column: total_ns | ns | | sum of durations in this report
-- column: share_pct | % | .2f | share of the sum of all kernel durations of the selection
-- column: avg_ns = Average | ns | .1f | mean duration in this report
-- column: match = Found | text | | exact: ncu measured this name, grid and block; name: the name only, in other shapes; none
-- column: launches | count | | launches that ncu measured of it
-- column: launch_id | id | | the launch with the median duration; of an even number, the shorter of the middle two
-- column: ncu_duration_ns = ncu | ns | | duration of the launch that ncu measured, under its clock control
-- column: ambiguous | text | | why the match is not unique: names that mean several kernels, or launches whose verdicts differ, intensities by over 10 %, durations by over 25 %
-- column: verdict | text | | memory bound, compute bound, latency bound or not measured, by the speed of light
-- column: verdict_pct = Of its peak | % | .1f | the number that proves it: throughput of compute or memory, whichever limits it; for latency bound the busier one
-- column: precision | text | | arithmetic that is counted
-- column: level | text | | level of the memory whose traffic is counted
-- column: flops_per_s = Work | FLOP/s | .0f | work; an FMA counts as two
-- column: bytes_per_s = Traffic | bytes/s | .0f | traffic of the level
-- column: intensity | FLOP/byte | .3f | arithmetic intensity at this level
-- column: peak_flops_per_s | FLOP/s | .0f | peak of this precision
-- column: peak_bytes_per_s | bytes/s | .0f | peak traffic of this level
-- column: pct_of_roof = Roof efficiency | % | .1f | work over the roof, of the launch that ncu measured; empty above 105 %, which is impossible
-- column: roof_gap_ns = Saving at the roof | ns | .0f | time saved at the roof: total × (1 − share of the roof); 0 above the roof
-- column: bound | text | | the verdict in one word: memory, compute or latency; empty where it was not measured
-- column: roof | text | | the roof above it: the memory left of the ridge point (dram, l2, l1), its precision right of it
-- column: estimated | text | | whether work, traffic or a peak is an estimate
-- column: covered_pct | % | .2f | share of all kernel durations in exact matches up to this row
-- column: demangled | text | | full name with template arguments
-- column: note = Estimated | text | | estimated values and their method
-- column: above_roof | text | | reason for an empty roof efficiency: it would be above 105 %, which is impossible
-- column: types | text | | input types of the tensor work
-- column: sm_clock_hz | Hz | .0f | SM clock in the measurement, at which the peak of the work holds
SELECT kernel, name, class, dimensions(grid_x, grid_y, grid_z) AS grid,
    dimensions(block_x, block_y, block_z) AS block, calls, total_ns,
    100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS share_pct, total_ns / calls AS avg_ns, match, launches,
    launch_id,
    duration_ns AS ncu_duration_ns, ambiguous, verdict, verdict_pct, precision, level, flops_per_s, bytes_per_s,
    intensity, peak_flops_per_s, peak_bytes_per_s, pct_of_roof,
    CASE WHEN pct_of_roof >= 100 THEN 0 ELSE total_ns * (1 - pct_of_roof / 100) END AS roof_gap_ns,
    verdict_word(verdict) AS bound, roof, estimated,
    100.0 * coalesce(sum(total_ns) FILTER (match = 'exact') OVER (ORDER BY place), 0) / nullif(sum(total_ns) OVER (), 0)
        AS covered_pct, demangled, note, above_roof, types, sm_clock_hz
FROM selected_pair($level, $precision)
ORDER BY place
LIMIT $limit::BIGINT;
