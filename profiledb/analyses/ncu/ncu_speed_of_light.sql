-- title: Speed of light of the launches
-- One row per launch: speed of light, occupancy, duration, and what limits it. The verdict follows the thresholds of
-- ncu's own SpeedOfLight rule: latency bound below 60 % of both peaks, else memory or compute bound by the busier one,
-- by compute and the device memory where the two are less than 10 points apart; without both percentages it is not
-- measured. The reason also tells what the rule says beyond that: near its peak from 80 % on, and a grid that does not
-- fill the GPU once. A duration holds under ncu's clock control only.
-- page: kernel_profiles
-- show: launch_id 56, name 264, class 184, duration_ns, compute_pct bar 104, memory_pct bar 104, verdict 120
-- show: occupancy_pct, theoretical_occupancy_pct, waves_per_sm, dram_pct, l2_hit_pct, l1_hit_pct, grid 100
-- show: block 90, registers, nvtx 260
-- needs: ncu_launch
-- includes: selection
-- param: launch =  keeps this launch only
-- column: launch_id = ID | id | | number of the launch, the ID of ncu's raw page
-- column: name = Kernel | text | | readable name without templates and arguments
-- column: class | class | | kernel class
-- column: duration_ns | ns | | duration under ncu's clock control
-- column: compute_pct | % | .1f | speed of light: SM throughput, share of the peak
-- column: memory_pct | % | .1f | speed of light: memory throughput, share of the peak
-- column: verdict | text | | memory bound, compute bound, latency bound or not measured
-- column: reason | text | | the numbers behind the verdict, or what is missing for one
-- column: occupancy_pct | % | .1f | achieved occupancy
-- column: theoretical_occupancy_pct = Theoretical | % | .1f | occupancy that registers, shared memory and block size allow
-- column: waves_per_sm = Waves | count | .2f | blocks of the grid over the blocks that fit on the GPU at once
-- column: grid | text | | blocks in x, y and z, or their number if the report has no more
-- column: block | text | | threads per block in x, y and z, or their number
-- column: registers | count | | registers per thread
-- column: dram_pct = DRAM | % | .1f | throughput of the device memory, share of the peak
-- column: dram_bytes_per_s | bytes/s | .0f | traffic of the device memory
-- column: l1_pct | % | .1f | throughput of the L1 cache, share of the peak
-- column: l2_pct | % | .1f | throughput of the L2 cache, share of the peak
-- column: l1_hit_pct = L1 hits | % | .1f | share of the sectors found in the L1 cache
-- column: l2_hit_pct = L2 hits | % | .1f | share of the sectors found in the L2 cache
-- column: nvtx = NVTX ranges | text | | NVTX ranges open at the launch, outermost first
-- column: device | text | | GPU, number
-- column: process | text | | program and process id
-- column: kernel | text | | full name with template arguments
WITH name AS (
    SELECT demangled, any_value(class) AS class, any_value(short) AS short FROM kernel_name GROUP BY demangled
), launch AS (
    SELECT *, ncu_verdict(sm_throughput_pct, memory_throughput_pct, dram_throughput_pct) AS verdict
    FROM ncu_launch LEFT JOIN name ON demangled = kernel
    WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
)
SELECT launch_id, readable_name(coalesce(short, kernel), kernel) AS name, class, duration_ns,
    sm_throughput_pct AS compute_pct, memory_throughput_pct AS memory_pct, verdict,
    verdict_reason(verdict, sm_throughput_pct, memory_throughput_pct, dram_throughput_pct, waves_per_sm)
        AS reason,
    occupancy_pct, theoretical_occupancy_pct, waves_per_sm,
    coalesce(dimensions(grid_x, grid_y, grid_z), grid_size::VARCHAR) AS grid,
    coalesce(dimensions(block_x, block_y, block_z), block_size::VARCHAR) AS block, registers_per_thread AS registers,
    dram_throughput_pct AS dram_pct,
    dram_bytes_per_s, l1_throughput_pct AS l1_pct, l2_throughput_pct AS l2_pct, l1_hit_pct, l2_hit_pct, nvtx,
    device_id AS device, concat_ws(' ', process_name, pid) AS process, kernel
FROM launch
ORDER BY launch_id;
