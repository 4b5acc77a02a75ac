-- title: Energy by kernel class
-- Energy of the selection by kernel class, memcpy, memset, whole CUDA graphs, and the time without selected work
-- (`idle`). Concurrent work shares energy: within each stretch of known energy, the busy time is split in proportion to
-- durations. All rows add up to the energy of `energy_summary`; classes in the same stretch differ by their time alone,
-- which the intervals reflect.
-- page: energy
-- needs: power_log
-- includes: selection, sidecar, power, energy
-- selects: part, mode
-- column: class | class | | kernel class; memcpy, memset, graph, idle
-- column: seconds = Time | s | .6f | its share of the time that the log covers, over all GPUs; concurrent work shares time
-- column: joules = Energy | J | .3f | energy, idle power included
-- column: low_j | J | .3f | lower end of the interval
-- column: high_j | J | .3f | upper end of the interval
-- column: share_pct | % | .2f | share of the energy of the selection
-- column: mean_w | W | .1f | energy over this time
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
