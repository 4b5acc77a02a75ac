-- title: Advice of Nsight Compute
-- question: What do the rules of Nsight Compute promise, weighed by time?
-- Nsight Compute estimates for each launch what its own rules save of the whole kernel (global speed-ups). Weighed by
-- the time that the kernel takes, in the linked Systems report or in the Compute report itself, they tell which advice
-- is worth most. The value is that of the best rule of each kernel: rules overlap, and are not added up.
-- needs: ncu_launch
-- needs: ncu_rule
-- includes: profile
-- selects: part
-- joins: ncu
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 5 share of the measured kernel time that the best rule of each kernel saves
-- column: kernel | name | | kernel that gains most
-- column: rule | text | | the rule of Nsight Compute that promises it
-- column: speedup_pct | % | .1f | its estimate for this kernel
-- says: By its own estimate, Nsight Compute's advice saves up to {value} of the measured kernel time; most in {kernel}: rule {rule} promises {speedup_pct} of its time.
-- clear: By its own estimate, Nsight Compute's advice saves up to {value} of the measured kernel time.
-- advice: Open the launch on Kernel profiles: the rule says there, word for word, what to change.
-- source: Nsight Compute's rules (speed-up type global), weighed by time
WITH best AS (
    SELECT launch_id, max(speedup_pct) AS speedup_pct, arg_max(rule, speedup_pct) AS rule
    FROM ncu_rule WHERE speedup_type = 'global' GROUP BY launch_id
), judged AS (
    SELECT launch_id, readable, ns, calls, rule AS note, coalesce(speedup_pct, 0) / 100 AS gain
    FROM finding_launch SEMI JOIN ncu_rule USING (launch_id) LEFT JOIN best USING (launch_id)
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
    (SELECT list(piece ORDER BY weight DESC, launch_id) FROM shown) AS evidence
FROM judged;
