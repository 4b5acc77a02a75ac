-- title: Below the roof
-- question: How far are kernels from their roof?
-- The share of the measured kernel time above the roof: time x (1 - share of the roof), at the traffic of the device
-- memory and the arithmetic closest to its peak. A perfect kernel saves it, with the same work and traffic.
-- needs: ncu_launch
-- includes: profile
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 33 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel with the largest cost
-- column: note | text | | measurement of this kernel
-- column: launches | count | | measured launches with this cost
-- says: The measured kernels would take {value} less time at their roofs; most in {kernel}, which reaches {note}.
-- clear: The measured kernels would take {value} less time at their roofs.
-- advice: Start with {kernel}: its stalls and occupancy on Kernel profiles show why it stays below its roof.
-- source: Roofline as on the page Roofline (SpeedOfLight_RooflineChart); threshold: ours
WITH judged AS ( -- noqa: ST03
    SELECT launch_id, readable, ns, calls, format('{:.0f} % of {}', pct_of_roof, roof_title(roof)) AS note,
        greatest(0, 1 - pct_of_roof / 100) AS gain
    FROM finding_launch
    JOIN (
        SELECT launch_id, pct_of_roof, roof FROM ncu_roofline_point WHERE is_main AND level = 'dram'
    ) USING (launch_id)
)
FROM finding_gain('judged', 'Work and traffic were not measured: profile with `--set roofline`.');
