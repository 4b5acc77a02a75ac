-- title: What limits the launches that ncu measured
-- Launches by verdict (see ncu_speed_of_light), those with the most time first. The verdict is defined in
-- selected.sql (ncu_verdict).
-- page: kernel_profiles
-- needs: ncu_launch
-- includes: selection
-- column: verdict | text | | limiter of the launches; not measured if speed of light was not collected
-- column: launches | count | | number of launches
-- column: duration_ns | ns | | sum of their durations under ncu's clock control
-- column: share_pct | % | .1f | share of the sum of all durations
SELECT ncu_verdict(sm_throughput_pct, memory_throughput_pct, dram_throughput_pct) AS verdict, count(*) AS launches,
    sum(duration_ns)::BIGINT AS duration_ns,
    100.0 * sum(duration_ns) / nullif(sum(sum(duration_ns)) OVER (), 0) AS share_pct
FROM ncu_launch
GROUP BY verdict
ORDER BY duration_ns DESC NULLS LAST, launches DESC, verdict;
