-- title: Steps get slower
-- question: Does the step time grow during the run?
-- The growth of the median step time from the first to the last third of the steps that count (see "Outlier steps"),
-- in the process that grows most. It is 0 unless step times rise with the number of the step (rank correlation of at
-- least `correlation`). If times scatter, but steps launch more and more (rank correlation of at least `steadily`),
-- the growth is that of the time for which their operations keep the GPU busy. The rule needs at least 9 steps. The
-- saving is the time that steps take above the first one, by the line through both medians, which is never below the
-- shortest step; a step counts with at most `most` times the median of the last third, because growth makes no outlier.
-- Of steps that launch more, it is the share of each that goes to operations beyond the fewest. Growth comes before the
-- places in which steps spend it.
-- needs: range
-- includes: waiting
-- selects: part
-- once: finding_steps, steps
-- parts: all
-- unit: %
-- fires: above
-- param: threshold = 10 fires at or above this growth
-- param: correlation = 0.7 lowest rank correlation between step time and step number
-- param: steadily = 0.95 lowest rank correlation between the operations of a step and its number
-- param: most = 2 longest step that growth explains, in medians of the last third
-- column: steps | count | | steps that count
-- column: first_ns | ns | .1f | median step time of the first third
-- column: last_ns | ns | .1f | median step time of the last third
-- column: first_operations | count | | median operations of the first third, if these grow and times scatter
-- column: last_operations | count | | the same of the last third
-- says: Steps launch more and more: {last_operations} operations at the end against {first_operations} at the start, which keep the GPU busy {value} longer, over {steps} steps.
-- says: Steps get slower: {last_ns} at the end against {first_ns} at the start, {value} more, over {steps} steps.
-- clear: The time of a step does not grow over {steps} steps.
-- advice: [more, PyTorch] Find out what each step adds: hooks that are registered again (`handle.remove()`), parameter groups, callbacks, a graph that is kept (`retain_graph=True`).
-- advice: [else, more] Find out what each step adds: lists, callbacks, work of earlier steps that is done again.
-- advice: [else, PyTorch, training] Find out what grows: lists of tensors that keep their graph (`losses.append(loss)` instead of `.item()` every N steps or `.detach()`), caches, logs, sequence lengths, fragmented memory.
-- advice: [else, decode] Find out what grows: the key-value cache makes attention longer with each token, which is no fault; lists, logs and copies of the cache (`torch.cat`) are.
-- advice: [else] Find out what grows: caches, logs, lists, sequence lengths, fragmented memory.
-- advice: [not more] Watch the clocks: a GPU that gets hot or reaches its power limit gets slower, too.
-- source: TensorRT-LLM, nsys-ai (trend of iteration times); thirds, correlation and threshold: ours
SELECT NULL AS value, 'The selection has fewer than 9 steps.' AS unjudged, NULL AS saving_ns, NULL AS steps,
    NULL AS first_ns, NULL AS last_ns, NULL AS first_operations, NULL AS last_operations, true AS is_cause,
    NULL AS cause, NULL AS evidence
FROM finding_step HAVING count(*) < 9;

WITH step AS MATERIALIZED (
    SELECT finding_step.*, busy_ns, operations, rank() OVER (PARTITION BY finding_step.pid ORDER BY ns) AS size,
        rank() OVER (PARTITION BY finding_step.pid ORDER BY operations) AS load
    FROM finding_step LEFT JOIN (
        SELECT pid_of(global_tid) AS pid, number, busy_ns, operations FROM selected_counted_step('process') WHERE leads
    ) USING (pid, number)
), loop AS (  -- by ranks (Spearman), so that single outliers hide no growth
    SELECT pid, any_value(steps) AS steps, corr(size, place) AS correlation, min(ns) AS least_ns,
        median(ns) FILTER (3 * place <= steps) AS first_ns, median(ns) FILTER (3 * (steps - place) < steps) AS last_ns,
        corr(load, place) AS load_correlation, min(operations) AS least,
        median(busy_ns) FILTER (3 * place <= steps) AS first_busy_ns,
        median(busy_ns) FILTER (3 * (steps - place) < steps) AS last_busy_ns,
        median(operations) FILTER (3 * place <= steps)::BIGINT AS first_operations,
        median(operations) FILTER (3 * (steps - place) < steps)::BIGINT AS last_operations
    FROM step GROUP BY pid HAVING count(*) >= 9
), grown AS (
    SELECT *, greatest(least_ns, first_ns - (last_ns - first_ns) / 4) AS base_ns,  -- medians are at 1/6 and 5/6 of it
        CASE WHEN coalesce(correlation, 0) >= $correlation::DOUBLE
            THEN greatest(0, 100.0 * (last_ns - first_ns) / nullif(first_ns, 0)) ELSE 0 END AS slower,
        CASE WHEN coalesce(load_correlation, 0) >= $steadily::DOUBLE AND slower < $threshold::DOUBLE
                AND last_operations > first_operations  -- the correlation of equal numbers is NaN, above any other
            THEN greatest(0, 100.0 * (last_busy_ns - first_busy_ns) / nullif(first_busy_ns, 0)) ELSE 0 END AS busier,
        greatest(slower, busier) AS growth, busier > slower AS by_load
    FROM loop
), worst AS (
    SELECT * FROM grown ORDER BY growth DESC, pid LIMIT 1
), above AS (
    SELECT sum(CASE WHEN by_load THEN ns * (1 - least / operations)
            ELSE greatest(0, least(ns, $most::DOUBLE * last_ns) - base_ns) END)::BIGINT AS ns
    FROM step JOIN worst USING (pid) WHERE growth > 0
), shown AS (
    SELECT place, {
            'name': path, 'ns': ns, 'start_ns': start_ns, 'end_ns': end_ns, 'range': path
        } AS piece
    FROM step JOIN (SELECT pid FROM worst) USING (pid) ORDER BY place DESC LIMIT 10
)
SELECT growth AS value, CASE WHEN steps IS NULL THEN 'The selection has fewer than 9 steps.' END AS unjudged,
    above.ns AS saving_ns, steps, first_ns, last_ns, CASE WHEN by_load THEN first_operations END AS first_operations,
    CASE WHEN by_load THEN last_operations END AS last_operations, true AS is_cause,
    CASE WHEN by_load THEN 'more' END AS cause,
    (SELECT list(piece ORDER BY place DESC) FROM shown) AS evidence
FROM above LEFT JOIN worst ON true;
