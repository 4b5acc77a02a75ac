-- title: Matmul against the rest, by phase
-- One row per phase (phases.toml) and one for all phases: the share of matrix products (class `matmul`) in the kernel
-- time. Fused attention and convolutions count as the rest. `phase_split` defines phases and the steps that count.
-- page: phases
-- show: phase 120, share_pct bar 110, total_ns, matmul_pct, rest_pct, matmul_ns, rest_ns, calls, pass_ns
-- show: pass_calls
-- prefetch: part
-- needs: kernel
-- includes: selection, phase
-- selects: part, mode, phases
-- once: phase_times
-- column: phase | text | | phase; `none`: outside all phases, `all`: everything
-- column: total_ns = Kernel time | ns | | sum of durations
-- column: share_pct | % | .2f | share of all kernel time of the selection
-- column: matmul_ns | ns | | sum of matmul kernel durations
-- column: rest_ns | ns | | sum of all other kernel durations
-- column: matmul_pct | % | .2f | share of matmul in the kernel time of the phase
-- column: rest_pct | % | .2f | share of everything else
-- column: calls = Launches | count | | number of launches
-- column: passes = Steps | count | | steps of the selection that count; empty if it has none, or if they hold less than a quarter of the kernel time from the first to the last
-- column: pass_ns = Time per step | ns | .1f | mean kernel time per step
-- column: pass_matmul_ns = Matmul per step | ns | .1f | mean matmul time per step
-- column: pass_rest_ns = Rest per step | ns | .1f | mean time of all other kernels per step
-- column: pass_calls = Launches per step | count | .2f | mean number of launches per step
WITH kind AS (
    SELECT phase, is_matmul(class) AS matmul, in_pass, total_ns, calls, passes
    FROM selected_phase_time(selected_mode()) LEFT JOIN kernel_name USING (name_id)
), total AS (
    SELECT CASE GROUPING(phase) WHEN 1 THEN 'all' ELSE phase END AS phase, sum(total_ns)::BIGINT AS total_ns,
        coalesce(sum(total_ns) FILTER (matmul), 0)::BIGINT AS matmul_ns, sum(calls)::BIGINT AS calls,
        any_value(passes) AS passes, coalesce(sum(total_ns) FILTER (in_pass), 0) / any_value(passes) AS pass_ns,
        coalesce(sum(total_ns) FILTER (in_pass AND matmul), 0) / any_value(passes) AS pass_matmul_ns,
        coalesce(sum(calls) FILTER (in_pass), 0) / any_value(passes) AS pass_calls
    FROM kind GROUP BY ROLLUP(phase) HAVING count(*) > 0
)
SELECT phase, total_ns, 100.0 * total_ns / nullif(max(total_ns) OVER (), 0) AS share_pct, matmul_ns,
    total_ns - matmul_ns AS rest_ns, 100.0 * matmul_ns / nullif(total_ns, 0) AS matmul_pct,
    100.0 * (total_ns - matmul_ns) / nullif(total_ns, 0) AS rest_pct, calls, passes, pass_ns, pass_matmul_ns,
    pass_ns - pass_matmul_ns AS pass_rest_ns, pass_calls
FROM total
ORDER BY phase <> 'all', phase_place(phase);
