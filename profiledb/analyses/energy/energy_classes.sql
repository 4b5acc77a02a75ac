-- title: Energy by kernel class
-- How the energy of the selection divides among kernel classes, copies, memsets, whole CUDA graphs, and the time in
-- which none of the selection's work ran (`idle`). Work that runs at the same time shares it: within each stretch of
-- known energy the time in which anything ran is divided as the durations are. So all rows add up to the energy of
-- `energy_summary`; what tells two classes of the same stretch apart is their time alone, which the bars say.
-- page: energy
-- needs: power_log
-- includes: selection, sidecar, power, energy
-- selects: part, mode
-- column: class | class | | kernel class; memcpy, memset, graph, idle
-- column: seconds = Time | s | .6f | its share of the time that the log covers, over all GPUs; work that runs at the same time shares it
-- column: joules = Energy | J | .3f | energy, idle power included
-- column: low_j | J | .3f | lower end of the interval
-- column: high_j | J | .3f | upper end of the interval
-- column: share_pct | % | .2f | share of the energy of the selection
-- column: mean_w | W | .1f | energy over that time
-- column: measurable | bool | | false if the interval is wider than the energy
SELECT label AS class, sum(known_ns) / 1e9 AS seconds, sum(joules) AS joules, sum(low_j) AS low_j,
    sum(high_j) AS high_j,
    100.0 * sum(joules) / nullif(sum(sum(joules)) OVER (), 0) AS share_pct,
    sum(joules) / nullif(sum(known_ns), 0) * 1e9 AS mean_w,
    energy_measurable(sum(joules), sum(low_j), sum(high_j)) AS measurable
FROM selected_energy('class', selected_mode(), 1000)
WHERE known_ns > 0
GROUP BY label
ORDER BY joules DESC, class;
