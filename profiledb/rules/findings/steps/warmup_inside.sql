-- title: Warm-up in the selection
-- question: Does the selection contain a warm-up that distorts its figures?
-- The time of ranges named warm-up in the selection, plus the time by which first steps that look like a warm-up (see
-- `iterations`) exceed the median of the steps that count, as a share of the time in which these ranges and steps last
-- or a GPU has work: a warm-up may end before the first operation. Steps last as in "Outlier steps". Figures per step
-- exclude these steps; totals, shares and kernel tables include them.
-- needs: range
-- includes: finding, ranges, waiting, work
-- selects: part
-- once: span, steps
-- weight: warning
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the selected time
-- column: named_ns | ns | | time of ranges named warm-up
-- column: first_steps | count | | first steps that look like a warm-up
-- column: above_ns | ns | | time that these steps take above the median
-- says: {value} of the selected time is warm-up: {named_ns} in ranges called warm-up, and {above_ns} by which {first_steps} first {first_steps|step exceeds|steps exceed} the median of the others.
-- says: {value} of the selected time is warm-up: {first_steps} first {first_steps|step exceeds|steps exceed} the median of the others by {above_ns}.
-- says: {value} of the selected time is warm-up: {named_ns} in ranges called warm-up.
-- clear: Warm-up is {value} of the selected time.
-- advice: Exclude it: check "Exclude warm-up" beside the report, or select the steps that count (`--param warmup=exclude`, `--param within=steps`).
-- source: ours; warm-up is recognized as NVIDIA's timing guides advise, by steps that take longer than later ones
SELECT 0::DOUBLE AS value, NULL AS named_ns, NULL AS first_steps, NULL AS above_ns, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (FROM selected_step('process'))
    AND NOT EXISTS (FROM selected_range JOIN range_name USING (name_id) WHERE is_warmup(name));

WITH outermost AS (
    SELECT start_ns, end_ns FROM selected_range JOIN range_name USING (name_id)
    WHERE is_warmup(name) AND closed QUALIFY end_ns > coalesce(max(end_ns) OVER (
            PARTITION BY global_tid ORDER BY start_ns, end_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0)
), step AS MATERIALIZED (
    SELECT start_ns, greatest(end_ns, coalesce(gpu_start_ns + gpu_ns, end_ns)) AS end_ns, path, is_warmup
    FROM selected_step('process') WHERE rank = 1 AND closed AND NOT warmup
), piece AS MATERIALIZED ( -- time that an earlier one covers counts with that one
    SELECT *, greatest(0, end_ns - greatest(start_ns, max(end_ns) OVER (
        ORDER BY start_ns, end_ns DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ))) AS ns
    FROM (FROM step UNION ALL SELECT start_ns, end_ns, NULL, NULL FROM outermost)
), named AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns FROM piece WHERE is_warmup IS NULL
), first_steps AS (
    SELECT count(*) AS first_steps, coalesce(sum(greatest(0, ns - usual_ns)), 0)::BIGINT AS ns
    FROM piece CROSS JOIN (SELECT median(ns) AS usual_ns FROM piece WHERE NOT is_warmup) WHERE is_warmup
), part AS (
    SELECT 0 AS device_id, start_ns, end_ns, false AS of_gpu FROM piece
    UNION ALL SELECT 0, start_ns, end_ns, true FROM selected_active
), whole AS (
    SELECT sum(end_ns - start_ns) AS ns FROM finding_union('part') WHERE EXISTS (FROM part WHERE of_gpu)
), shown AS (
    SELECT start_ns, {
            'name': path, 'ns': ns, 'start_ns': start_ns, 'end_ns': end_ns, 'range': path
        } AS piece
    FROM piece WHERE is_warmup ORDER BY start_ns LIMIT 10
)
SELECT 100.0 * (named.ns + first_steps.ns) / nullif(whole.ns, 0) AS value,
    nullif(named.ns, 0) AS named_ns, nullif(first_steps, 0) AS first_steps, nullif(first_steps.ns, 0) AS above_ns,
    (SELECT list(piece ORDER BY start_ns) FROM shown) AS evidence
FROM whole CROSS JOIN named CROSS JOIN first_steps;
