-- title: What the warps of a launch wait for
-- One row per launch and reason, largest first. Each warp has one state in each cycle: cycles_per_issue are the cycles
-- of a warp in this state per issued instruction, and all states together are its latency. The state "selected" is the
-- issue itself, not a stall. Samples come from program counter sampling, which counts the same states separately. A
-- reason has one name for all versions of ncu: gmma, no_instruction.
-- page: kernel_profiles
-- needs: ncu_metric
-- includes: launch
-- param: launch =  number of the launch (analysis ncu_speed_of_light); empty: all launches
-- column: launch_id | id | | number of the launch
-- column: rank | count | | 1 for the largest
-- column: reason | text | | name of the state, as in ncu's metrics
-- column: cycles_per_issue | text | .2f | cycles per issued instruction
-- column: share_pct | % | .1f | share of the latency of a warp
-- column: latency_cycles | text | .2f | cycles between two instructions of a warp: all states together
-- column: samples | count | .0f | samples of this state
-- column: samples_pct | % | .1f | share of all samples of the launch
SELECT launch_id, rank, reason, cycles_per_issue, share_pct, latency_cycles, samples, samples_pct FROM launch_stall
WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
ORDER BY launch_id, rank;
