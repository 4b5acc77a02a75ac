-- title: Energy of ranges
-- The energy that the GPUs drew in the time of the ranges of the selection, one row per path, loop or name, in the
-- order of time covered. A loop is one row for all of its numbers: step_* for step_0, step_1, step_2 ... The time of a
-- range is that on the GPU, from its first operation to the end of its last; of one that launched nothing that on the
-- CPU. Where instances overlap their time counts once. Idle power is part of it. What is told where the log covers a
-- part is the energy of that part.
-- page: energy
-- needs: power_log
-- needs: range
-- includes: selection, sidecar, power, energy
-- selects: part, mode
-- param: by = path (path, loop, name) a row for each path, each path with loops as one, or each name wherever it stands
-- param: most = 200 at most this many rows
-- column: range | text | | path, loop or name
-- column: instances | count | | ranges of the selection
-- column: seconds = Time | s | .6f | time that they cover, on the GPU, else on the CPU; overlaps count once
-- column: covered_pct | % | .1f | share of it that the log covers
-- column: joules = Energy | J | .3f | energy, idle power included; empty if the log covers nothing
-- column: low_j | J | .3f | lower end of the interval
-- column: high_j | J | .3f | upper end of the interval
-- column: joules_each = Per instance | J | .3f | mean energy per instance; empty unless the log covers all of the time
-- column: mean_w | W | .1f | energy over time: mean power of all GPUs together
-- column: measurable | bool | | false if the interval is wider than the energy, or if there is no energy
-- column: total | count | | all rows, shown or not
WITH counted AS (
    SELECT key, any_value(title) AS title, count(*) AS instances
    FROM selected_range JOIN range_key($by) USING (path_id) GROUP BY key
), energy AS (
    SELECT key, any_value(asked_ns) AS asked_ns, sum(known_ns) AS known_ns, sum(joules) AS joules, sum(low_j) AS low_j,
        sum(high_j) AS high_j, count(*) AS gpus
    FROM selected_energy($by, selected_mode(), $most::INTEGER) GROUP BY key
)
SELECT title AS range, instances, asked_ns / 1e9 AS seconds,
    100.0 * coalesce(known_ns, 0) / (asked_ns * gpus) AS covered_pct, joules, low_j, high_j,
    CASE WHEN known_ns > 0.999 * asked_ns * gpus THEN joules / instances END AS joules_each,
    joules / known_ns * 1e9 * gpus AS mean_w, energy_measurable(joules, low_j, high_j) AS measurable,
    count(*) OVER () AS total
FROM counted LEFT JOIN energy USING (key)
ORDER BY asked_ns DESC NULLS LAST, title
LIMIT $most::INTEGER;
