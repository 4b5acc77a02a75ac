-- title: What limits each launch, told once
-- One row per launch: the speed-of-light verdict, which every page shows, with the limits from roofline and warps
-- beside it. They can differ: the roofline counts only floating-point work and device memory traffic, and a warp's wait
-- limits nothing if other warps cover it.
-- page: kernel_profiles
-- needs: ncu_launch
-- includes: verdict
-- param: launch =  keeps this launch only
-- column: launch_id = ID | id | | number of the launch
-- column: verdict | text | | memory bound, compute bound, latency bound or not measured
-- column: reason | text | | the numbers behind the verdict, or what is missing for one
-- column: compute_pct | % | .1f | speed of light: SM throughput, share of the peak
-- column: memory_pct | % | .1f | speed of light: memory throughput, share of the peak
-- column: waves_per_sm = Waves | count | .2f | blocks of the grid over the blocks that fit on the GPU at once
-- column: roof | text | | the roof above it, by traffic of the device memory: dram, or its precision; empty where it is not known
-- column: pct_of_roof = Roof efficiency | % | .1f | work over that roof
-- column: flops_per_s = Work | FLOP/s | .0f | floating-point work; 0 without any
-- column: stall | text | | largest wait of its warps, as in ncu_stalls
-- column: stall_pct | % | .1f | share of the latency of a warp, else of the samples
SELECT launch_id, verdict, reason, compute_pct, memory_pct, waves_per_sm, roof, pct_of_roof, flops_per_s, stall,
    stall_pct
FROM launch_verdict
WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
ORDER BY launch_id;
