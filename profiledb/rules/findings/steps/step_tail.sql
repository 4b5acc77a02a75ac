-- title: Scattered step times
-- question: Do many steps take longer than usual?
-- The P95 of the step time over its median, among the steps that count (see "Outlier steps") in the loop of each
-- process. The rule takes the lowest P95 of all steps and of either half: slow steps only at the start or the end are
-- warm-up or a single event, not scatter. The P95 of a half is one of its steps, so two slow ones of up to 20 suffice.
-- The rule needs at least 20 steps. The saving is the time that steps take above the median.
-- needs: range
-- includes: waiting
-- selects: part
-- once: finding_steps
-- parts: all
-- level: symptom
-- unit: ratio
-- fires: above
-- param: threshold = 1.25 fires at or above this ratio of P95 to median
-- column: steps | count | | steps that count
-- column: median_ns | ns | .1f | median step time
-- column: p95_ns | ns | .1f | lowest P95 of all steps and of either half
-- says: The slowest 5 % of {steps} steps take at least {value} times the median ({p95_ns} against {median_ns}), both early and late in the run.
-- clear: The slowest 5 % of {steps} steps take at least {value} times the median.
-- advice: Compare a slow step with a usual one on the Compare page: inputs of different lengths (bucket or pad them), clocks that change, other work on the same GPU or CPU.
-- source: pegainfer PR 163 (P99 over P50); P95, because captures are short, and 1.25: ours
SELECT NULL AS value, NULL AS saving_ns, NULL AS steps, NULL AS median_ns, NULL AS p95_ns,
    'The selection has fewer than 20 steps.' AS unjudged, NULL AS evidence
FROM finding_step HAVING count(*) < 20;

WITH step AS MATERIALIZED (FROM finding_step
), half AS (
    SELECT pid, 2 * place > steps AS late, list_sort(list(ns))[1 + (19 * (count(*) - 1)) // 20] AS p95_ns
    FROM step GROUP BY ALL
), total AS (
    SELECT pid, count(*) AS steps, least(quantile_cont(ns, 0.95), (
            SELECT min(p95_ns) FROM half WHERE half.pid = step.pid
        )) AS p95_ns, median(ns) AS median_ns, sum(greatest(0, ns - median_ns))::BIGINT AS above_ns
    FROM step GROUP BY pid
), worst AS (
    SELECT * FROM total WHERE steps >= 20 ORDER BY p95_ns / nullif(median_ns, 0) DESC, pid LIMIT 1
), shown AS (
    SELECT ns, start_ns, {
            'name': path, 'ns': ns, 'start_ns': start_ns, 'end_ns': end_ns, 'range': path
        } AS piece
    FROM step WHERE pid IN (SELECT pid FROM worst) ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT p95_ns / nullif(median_ns, 0) AS value, above_ns AS saving_ns, steps, median_ns, p95_ns,
    CASE WHEN steps IS NULL THEN 'The selection has fewer than 20 steps.' END AS unjudged,
    (SELECT list(piece ORDER BY ns DESC, start_ns) FROM shown) AS evidence
FROM (SELECT 1 AS one) LEFT JOIN worst ON true;
