-- title: Other advice of Nsight Compute
-- question: How much of the kernel time does advice of Nsight Compute save that no other rule gives?
-- The share of the measured kernel time that the best Nsight Compute rule of each kernel saves. Nsight Compute
-- estimates for each launch the part of the kernel that its rules save (global speed-ups); the value weights them by
-- the kernel's time, in the linked Systems report or in the Compute report itself. Rules overlap and do not add up. An
-- estimate counts as far as the launch can reach: at 91 % of the DRAM peak it gains at most 9 %, unless the rule
-- reduces traffic, as for sectors that no thread requested; compute or memory, whichever is busier, caps rules that
-- only reduce waiting. L2 compression does not count, because it needs memory allocated as compressible. Nor does
-- anything that a rule of ours measures: occupancy, stalls, grids and blocks, bank conflicts, divergence.
-- needs: ncu_launch
-- needs: ncu_rule
-- includes: profile
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the measured kernel time
-- column: kernel | name | | kernel that gains most
-- column: rule | text | | rule of Nsight Compute that promises it
-- column: speedup_pct | % | .1f | estimate for this kernel, as far as it can reach it
-- column: at_roof | text | | share of its roof that this kernel reaches, if it is at it
-- says: Other advice of Nsight Compute saves up to {value} of the measured kernel time; most in {kernel}, which is already at its roof ({at_roof}): rule {rule}.
-- says: Other advice of Nsight Compute saves up to {value} of the measured kernel time, as far as the roof allows; most in {kernel}: rule {rule}.
-- clear: Other advice of Nsight Compute saves up to {value} of the measured kernel time, as far as the roof allows.
-- advice: Open {kernel} on Kernel profiles and read what rule {rule} says.
-- source: Nsight Compute's rules (speed-up type global), weighted by time, capped by the speed of light
WITH best AS (
    SELECT launch_id, max(reach_pct) AS reach_pct, arg_max(rule, reach_pct) AS rule
    FROM ncu_advice
    WHERE rule NOT IN (
        'TheoreticalOccupancy', 'AchievedOccupancy', 'CPIStall', 'IssueSlotUtilization', 'LaunchConfiguration',
        'SharedMemoryConflicts', 'ThreadDivergence'
    )
    GROUP BY launch_id
), judged AS (
    SELECT launch_id, readable, ns, calls, rule AS note, coalesce(reach_pct, 0) / 100 AS gain,
        IF(is_at_roof, roof_note, NULL) AS at_roof
    FROM finding_launch SEMI JOIN ncu_rule USING (launch_id) LEFT JOIN best USING (launch_id)
    LEFT JOIN finding_roof USING (launch_id)
), shown AS (
    SELECT {
            'name': readable, 'note': note, 'value': 100 * gain, 'ns': round(gain * ns)::BIGINT, 'count': calls,
            'launch': launch_id
        } AS piece, gain * ns AS weight, launch_id
    FROM judged WHERE gain > 0 ORDER BY gain * ns DESC, launch_id LIMIT 10
)
SELECT 100.0 * sum(gain * ns) / nullif(sum(ns), 0) AS value, round(sum(gain * ns))::BIGINT AS saving_ns,
    arg_max(readable, gain * ns) FILTER (gain > 0) AS kernel, arg_max(note, gain * ns) FILTER (gain > 0) AS rule,
    100 * arg_max(gain, gain * ns) FILTER (gain > 0) AS speedup_pct,
    arg_max({'note': at_roof}, gain * ns) FILTER (gain > 0).note AS at_roof,
    (SELECT list(piece ORDER BY weight DESC, launch_id) FROM shown) AS evidence
FROM judged;
