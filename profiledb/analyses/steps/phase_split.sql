-- title: GPU time by phase and kernel class
-- Kernel time of each phase (forward, backward, optimizer: phases.toml) by class. A kernel belongs to the innermost
-- range around its launch whose name has a phase; the mode `thread` leaves out the backward pass that PyTorch launches
-- from its own threads. The columns `pass_*` are per step: means over the steps of the loop that `iterations` finds
-- (rank 1), without warm-up, with the kernels inside them.
-- page: phases
-- prefetch: part
-- needs: kernel
-- includes: selection, phase
-- selects: part, mode, phases
-- once: phase_times
-- column: phase | text | | phase, or `none` if no range around the launch has one
-- column: class | class | | kernel class
-- column: total_ns = Kernel time | ns | | sum of durations
-- column: share_pct | % | .2f | share of all kernel time of the selection
-- column: phase_pct | % | .2f | share of the kernel time of the phase
-- column: calls = Launches | count | | number of launches
-- column: passes = Steps | count | | steps of the selection that count; empty if it has none, or if they hold less than a quarter of the kernel time from the first to the last
-- column: pass_ns = Time per step | ns | .1f | mean kernel time per step
-- column: pass_calls = Launches per step | count | .2f | mean number of launches per step
SELECT phase, coalesce(class, 'other') AS class, sum(total_ns)::BIGINT AS total_ns,
    100.0 * sum(total_ns) / nullif(sum(sum(total_ns)) OVER (), 0) AS share_pct,
    100.0 * sum(total_ns) / nullif(sum(sum(total_ns)) OVER (PARTITION BY phase), 0) AS phase_pct,
    sum(calls)::BIGINT AS calls, any_value(passes) AS passes,
    coalesce(sum(total_ns) FILTER (in_pass), 0) / any_value(passes) AS pass_ns,
    coalesce(sum(calls) FILTER (in_pass), 0) / any_value(passes) AS pass_calls
FROM selected_phase_time(selected_mode()) LEFT JOIN kernel_name USING (name_id)
GROUP BY phase, coalesce(class, 'other')
ORDER BY phase_place(phase), total_ns DESC, class;
