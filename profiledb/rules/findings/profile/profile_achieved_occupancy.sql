-- title: Achieved occupancy
-- question: Do kernels reach the occupancy that their resources allow?
-- The share of the measured kernel time that missing warps cost at most, because fewer warps hide less latency: of each
-- kernel whose achieved occupancy is over 10 points below the theoretical one, (theoretical - achieved) / theoretical.
-- No launch saves more than its headroom to the peak of compute or memory. Kernels at 60 % or more of either peak do
-- not count: they run well with the warps that they have. Nor do launches that do not fill the GPU once: they have no
-- more.
-- needs: ncu_launch
-- includes: profile
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- says: Missing warps cost up to {value} of the measured kernel time; most in {kernel}: {note}.
-- clear: Missing warps cost at most {value} of the measured kernel time.
-- advice: Balance the work of blocks and warps of {kernel}; make blocks smaller, so that a new one starts as soon as one ends.
-- source: Nsight Compute, AchievedOccupancy: (theoretical - achieved) / theoretical, over 10 points; bounded by the speed of light
WITH judged AS ( -- noqa: ST03
    SELECT launch_id, readable, ns, calls,
        format('{:.1f} % of {:.1f} % possible occupancy', occupancy_pct, theoretical_occupancy_pct) AS note,
        CASE WHEN theoretical_occupancy_pct - occupancy_pct > 10 AND coalesce(waves_per_sm, 1) >= 1
                AND NOT coalesce(is_busy, false)
                THEN least(1 - occupancy_pct / theoretical_occupancy_pct, headroom)
            WHEN theoretical_occupancy_pct - occupancy_pct IS NOT NULL THEN 0 END AS gain
    FROM finding_launch
)
FROM finding_gain('judged', 'Occupancy was not measured: profile with `--section Occupancy`.');
