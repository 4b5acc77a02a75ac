-- title: Partial last wave
-- question: Does the last wave of blocks leave most of the GPU empty?
-- The share of the measured kernel time that partial last waves cost at most: 1 / (whole waves + 1), because a partial
-- wave takes as long as a whole one. A kernel counts if that is at least a fifth and its achieved occupancy is under
-- four fifths of the theoretical one, as in the rule of Nsight Compute. No launch saves more than its headroom to the
-- peak of compute or memory.
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
-- says: Partial last waves cost up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Partial last waves cost at most {value} of the measured kernel time.
-- advice: Choose tiles so that the blocks of {kernel} fill whole waves, or use a persistent or stream-K kernel.
-- source: Nsight Compute, LaunchStatistics: 1 / (whole waves + 1) if at least 20 %
WITH judged AS ( -- noqa: ST03
    SELECT launch_id, readable, ns, calls, format('{:.2f} waves', waves_per_sm) AS note,
        CASE WHEN waves_per_sm >= 1 AND waves_per_sm > floor(waves_per_sm) AND 1 / (floor(waves_per_sm) + 1) >= 0.2
                AND occupancy_pct < 0.8 * theoretical_occupancy_pct THEN least(1 / (floor(waves_per_sm) + 1), headroom)
            WHEN waves_per_sm + occupancy_pct + theoretical_occupancy_pct IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
)
FROM finding_gain('judged', 'Waves were not measured: profile with `--section LaunchStats --section Occupancy`.');
