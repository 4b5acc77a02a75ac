-- title: Steps get slower
-- question: Does the step time grow during the run?
-- The growth of the median step time from the first to the last third of the steps that count (see "Outlier steps"), in
-- the process that grows most. It is 0 unless step times rise with the number of the step (rank correlation of at least
-- `correlation`). The rule needs at least 9 steps. The saving is the time that steps take above the first one, by the
-- line through both medians, which is never below the shortest step. Growth comes before the places in which steps
-- spend it.
-- needs: range
-- includes: waiting
-- selects: part
-- once: finding_steps
-- parts: all
-- unit: %
-- fires: above
-- param: threshold = 10 fires at or above this growth
-- param: correlation = 0.7 lowest rank correlation between step time and step number
-- column: steps | count | | steps that count
-- column: first_ns | ns | .1f | median step time of the first third
-- column: last_ns | ns | .1f | median step time of the last third
-- says: Steps get slower: {last_ns} at the end against {first_ns} at the start, {value} more, over {steps} steps.
-- clear: The time of a step does not grow over {steps} steps.
-- advice: [PyTorch, training] Find out what grows: lists of tensors that keep their graph (`losses.append(loss)` instead of `.item()` every N steps or `.detach()`), caches, logs, sequence lengths, fragmented memory.
-- advice: [else, decode] Find out what grows: the key-value cache makes attention longer with each token, which is no fault; lists, logs and copies of the cache (`torch.cat`) are.
-- advice: [else] Find out what grows: caches, logs, lists, sequence lengths, fragmented memory.
-- advice: Watch the clocks: a GPU that gets hot or reaches its power limit gets slower, too.
-- source: TensorRT-LLM, nsys-ai (trend of iteration times); thirds, correlation and threshold: ours
SELECT NULL AS value, 'The selection has fewer than 9 steps.' AS unjudged, NULL AS saving_ns, NULL AS steps,
    NULL AS first_ns, NULL AS last_ns, true AS is_cause, NULL AS evidence
FROM finding_step HAVING count(*) < 9;

WITH step AS MATERIALIZED (SELECT *, rank() OVER (PARTITION BY pid ORDER BY ns) AS size FROM finding_step
), loop AS (  -- by ranks (Spearman), so that single outliers hide no growth
    SELECT pid, any_value(steps) AS steps, corr(size, place) AS correlation, min(ns) AS least_ns,
        median(ns) FILTER (3 * place <= steps) AS first_ns, median(ns) FILTER (3 * (steps - place) < steps) AS last_ns
    FROM step GROUP BY pid HAVING count(*) >= 9
), grown AS (
    SELECT *, greatest(least_ns, first_ns - (last_ns - first_ns) / 4) AS base_ns,  -- medians are at 1/6 and 5/6 of it
        CASE WHEN coalesce(correlation, 0) >= $correlation::DOUBLE
            THEN greatest(0, 100.0 * (last_ns - first_ns) / nullif(first_ns, 0)) ELSE 0 END AS growth
    FROM loop
), worst AS (
    SELECT * FROM grown ORDER BY growth DESC, pid LIMIT 1
), above AS (
    SELECT sum(greatest(0, ns - base_ns))::BIGINT AS ns FROM step JOIN worst USING (pid) WHERE growth > 0
), shown AS (
    SELECT place, {
            'name': path, 'ns': ns, 'start_ns': start_ns, 'end_ns': end_ns, 'range': path
        } AS piece
    FROM step JOIN (SELECT pid FROM worst) USING (pid) ORDER BY place DESC LIMIT 10
)
SELECT growth AS value, CASE WHEN steps IS NULL THEN 'The selection has fewer than 9 steps.' END AS unjudged,
    above.ns AS saving_ns, steps, first_ns, last_ns, true AS is_cause,
    (SELECT list(piece ORDER BY place DESC) FROM shown) AS evidence
FROM above LEFT JOIN worst ON true;
