-- title: Top kernels by phase
-- The kernels with the most time in each phase (phases.toml) and in all phases together, with their number of launches
-- and their rank among the non-matmul kernels. `phase_split` defines phases and the steps that count.
-- page: phases
-- show: rank 60, name 300, share_pct bar 110, total_ns, calls, pass_calls, pass_ns, avg_ns, class 184
-- prefetch: part limit=12
-- prefetch: part limit=12 phase=forward,backward
-- needs: kernel
-- includes: selection, phase
-- selects: part, mode, phases
-- once: names, phase_times
-- param: phase =  phases to merge, separated by commas: forward,backward; empty: each one, and `all`
-- param: limit =  at most this many kernels per phase, by rank, and as many non-matmul kernels
-- column: phase | text | | phase; `none`: outside all phases, `all`: everything, or the requested phases
-- column: rank | count | | rank in the phase by total time, from 1
-- column: rest_rank | count | | rank among the non-matmul kernels; empty for a matmul
-- column: kernel | text | | number of the kernel in this report, as kernel_summary and similar analyses accept it
-- column: name = Kernel | text | | readable name without templates and arguments
-- column: class | class | | kernel class
-- column: total_ns | ns | | sum of durations
-- column: share_pct | % | .2f | share of the kernel time of the phase
-- column: calls = Launches | count | | number of launches
-- column: avg_ns = Average | ns | .1f | mean duration
-- column: passes = Steps | count | | steps of the selection that count; empty if it has none, or if they hold less than a quarter of the kernel time from the first to the last
-- column: pass_ns = Time per step | ns | .1f | mean time of the kernel per step
-- column: pass_calls = Launches per step | count | .2f | mean number of launches per step
-- column: demangled | text | | full name with template arguments
WITH wanted AS (
    SELECT CASE WHEN $phase::VARCHAR IS NULL THEN phase ELSE $phase::VARCHAR END AS phase, name_id, in_pass, total_ns,
        calls, passes
    FROM selected_phase_time(selected_mode())
    WHERE $phase::VARCHAR IS NULL OR list_contains(string_split($phase::VARCHAR, ','), phase)
), kernel_time AS (
    SELECT CASE GROUPING(phase) WHEN 1 THEN 'all' ELSE phase END AS phase, kernel, GROUPING(phase) AS is_all,
        any_value(demangled) AS demangled, any_value(readable) AS name, coalesce(any_value(class), 'other') AS class,
        sum(total_ns)::BIGINT AS total_ns, sum(calls)::BIGINT AS calls, any_value(passes) AS passes,
        coalesce(sum(total_ns) FILTER (in_pass), 0) / any_value(passes) AS pass_ns,
        coalesce(sum(calls) FILTER (in_pass), 0) / any_value(passes) AS pass_calls
    FROM wanted LEFT JOIN kernel_key USING (name_id)
    GROUP BY kernel, ROLLUP(phase)
), ranked AS (
    SELECT *, row_number() OVER (PARTITION BY phase ORDER BY total_ns DESC, calls, demangled) AS rank,
        CASE WHEN NOT is_matmul(class) THEN row_number() OVER (
            PARTITION BY phase, is_matmul(class) ORDER BY total_ns DESC, calls, demangled) END AS rest_rank,
        100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY phase), 0) AS share_pct
    FROM kernel_time WHERE is_all = 0 OR $phase::VARCHAR IS NULL
)
SELECT phase, rank, rest_rank, kernel, name, class, total_ns, share_pct, calls,
    total_ns / calls AS avg_ns, passes, pass_ns, pass_calls, demangled
FROM ranked
WHERE $limit::BIGINT IS NULL OR rank <= $limit::BIGINT OR rest_rank <= $limit::BIGINT
ORDER BY is_all DESC, phase_place(phase), rank;
