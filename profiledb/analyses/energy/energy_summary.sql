-- title: Energy of the GPUs
-- Energy of each GPU in the selected time, from the power log beside the report (NAME.nvml.csv). energy.sql describes
-- the method and the interval. Idle power is included. Only the time that the log covers counts: the rest is missing,
-- not 0. GPUs without work in the report are left out.
-- page: energy
-- needs: power_log
-- includes: selection, sidecar, power, energy
-- selects: part, mode
-- column: gpu_id = GPU | id | | number of the GPU
-- column: gpu = Name | text | | product name, empty if the report does not state it
-- column: source = From | text | | source: counter, the GPU's energy counter; power, its integrated power
-- column: joules = Energy | J | .3f | energy in the time that the log covers, idle power included; empty if it covers none
-- column: low_j | J | .3f | lower end of the interval
-- column: high_j | J | .3f | upper end of the interval
-- column: seconds | s | .6f | time of the selection
-- column: covered_pct = In the log | % | .1f | share of the selection's time that the log covers
-- column: mean_w | W | .1f | energy over the time that the log covers
-- column: measurable | bool | | false if the interval is wider than the energy, or if there is no energy
-- column: readings | count | | readings of this GPU in the log
-- column: period_ns | ns | .0f | median time between two changes of the counter, or two readings of power
-- column: lowest_w | W | .1f | lowest power that the log proves
-- column: highest_w | W | .1f | highest power that the log proves, or the power limit if known and higher
-- column: limit_w | W | .1f | power limit, if the sidecar states it (gpus.N.power_limit_w)
-- column: log_start_ns | ns | | start of known energy, from the start of the capture
-- column: log_end_ns | ns | | end of known energy
WITH reading AS (
    SELECT gpu_id, count(*) AS readings FROM power_reading GROUP BY gpu_id
), known AS (
    SELECT gpu_id, median(ns) AS period_ns, any_value(p_min_w) AS lowest_w, any_value(p_max_w) AS highest_w,
        min(start_ns) AS low, max(end_ns) AS high
    FROM power_interval GROUP BY gpu_id
)
SELECT gpu_id, gpu.name AS gpu, source, joules, low_j, high_j, asked_ns / 1e9 AS seconds,
    100.0 * coalesce(known_ns, 0) / nullif(asked_ns, 0) AS covered_pct, joules / known_ns * 1e9 AS mean_w,
    energy_measurable(joules, low_j, high_j) AS measurable, coalesce(readings, 0) AS readings, period_ns, lowest_w,
    highest_w,
    limit_w,
    low - capture_window.start_ns AS log_start_ns, high - capture_window.start_ns AS log_end_ns
FROM selected_energy('window', selected_mode(), 1000) AS energy LEFT JOIN gpu USING (gpu_id)
LEFT JOIN reading USING (gpu_id)
LEFT JOIN known USING (gpu_id) LEFT JOIN power_limit USING (gpu_id) CROSS JOIN capture_window
ORDER BY gpu_id;
