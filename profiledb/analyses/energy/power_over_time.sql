-- title: Power over time
-- Power readings of the log beside the report, by GPU, in the selected time, with the nearest reading before and after
-- it. More readings than `bins` are averaged in bins of equal width, one row each. A reading is the driver's average
-- over its own period up to that time, which is longer than the interval between readings.
-- page: energy
-- needs: power_log
-- includes: selection, sidecar, power
-- selects: part
-- param: bins = 600 at most this many rows per GPU
-- column: gpu_id | id | | number of the GPU
-- column: time_ns | ns | | first reading of the bin, from the start of the capture
-- column: power_w | W | .1f | mean power of the readings
-- column: lowest_w | W | .1f | lowest reading
-- column: highest_w | W | .1f | highest reading
-- column: sm_clock_mhz | MHz | .0f | mean clock of the SMs
-- column: memory_clock_mhz | MHz | .0f | mean clock of the memory
-- column: temperature_c | °C | .1f | mean temperature
-- column: gpu_utilisation_pct = GPU utilization | % | .1f | share of the driver's last period in which a kernel ran (mean)
-- column: memory_utilisation_pct = Memory utilization | % | .1f | share of this period in which memory was read or written (mean)
-- column: memory_used_bytes | bytes | | maximum memory in use, by all processes together
-- column: readings | count | | number of readings in the bin
-- column: window_start_ns | ns | | start of the selected time, from the start of the capture
-- column: window_end_ns | ns | | end of known energy
WITH edge AS (
    SELECT min(start_ns) AS low, max(end_ns) AS high FROM selected_window
), near AS (
    SELECT gpu_id, max(time_ns) FILTER (time_ns <= low) AS first_ns, min(time_ns) FILTER (time_ns >= high) AS last_ns
    FROM power_reading CROSS JOIN edge GROUP BY gpu_id
), reading AS (
    SELECT power_reading.*, low, high, count(*) OVER (PARTITION BY gpu_id) AS many,
        greatest(1, (high - low) // greatest(1, $bins::INTEGER - 2) + 1) AS width
    FROM power_reading JOIN near USING (gpu_id) CROSS JOIN edge
    WHERE time_ns BETWEEN coalesce(first_ns, low) AND coalesce(last_ns, high)
)
SELECT gpu_id, min(reading.time_ns) - any_value(capture_window.start_ns) AS time_ns, avg(power_w) AS power_w,
    min(power_w) AS lowest_w, max(power_w) AS highest_w, avg(sm_clock_mhz) AS sm_clock_mhz,
    avg(memory_clock_mhz) AS memory_clock_mhz, avg(temperature_c) AS temperature_c,
    avg(gpu_utilisation_pct) AS gpu_utilisation_pct, avg(memory_utilisation_pct) AS memory_utilisation_pct,
    max(memory_used_bytes) AS memory_used_bytes, count(*) AS readings,
    any_value(low - capture_window.start_ns) AS window_start_ns,
    any_value(high - capture_window.start_ns) AS window_end_ns
FROM reading CROSS JOIN capture_window
GROUP BY gpu_id, CASE WHEN many <= $bins::INTEGER THEN reading.time_ns
    WHEN reading.time_ns < low THEN -1 ELSE (least(reading.time_ns, high) - low) // width END
ORDER BY gpu_id, time_ns;
