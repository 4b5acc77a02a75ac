-- title: Energy of ranges
-- Energy of the GPUs during the selected ranges: one row per path, loop or name, most covered time first. A loop is one
-- row for all of its numbers: step_* for step_0, step_1, step_2 ... The time of a range is that on the GPU, from its
-- first operation to the end of its last, or that on the CPU if it launched nothing. Overlapping instances count once.
-- Idle power is included. If the log covers only a part, the energy is that of this part.
-- page: energy
-- needs: power_log
-- needs: range
-- includes: selection, sidecar, power, energy
-- selects: part, mode
-- param: by = path (path, loop, name) one row per path, per path with loops merged, or per name at any position
-- param: most = 200 at most this many rows
-- column: range | text | | path, loop or name
-- column: instances | count | | number of ranges in the selection
-- column: seconds = Time | s | .6f | time that they cover, on the GPU, else on the CPU; overlaps count once
-- column: covered_pct | % | .1f | share of it that the log covers
-- column: joules = Energy | J | .3f | energy, idle power included; empty if the log covers nothing
-- column: low_j | J | .3f | lower end of the interval
-- column: high_j | J | .3f | upper end of the interval
-- column: joules_each = Per instance | J | .3f | mean energy per instance; empty unless the log covers all of the time
-- column: mean_w | W | .1f | energy over time: mean power of all GPUs together
-- column: measurable | bool | | false if the interval is wider than the energy, or if there is no energy
-- column: total | count | | number of all rows, shown or not
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
