-- title: Clocks lowered
-- question: Did the GPU run below its highest clock while it worked?
-- The mean SM clock in the power log beside the report, over readings in busy time of the selection, as a share of the
-- GPU's highest clock; the slowest GPU counts. The rule needs at least `least` such readings. The saving is the time
-- that the busy time would shrink by at the highest clock; time limited by memory or the link does not shrink.
-- needs: power_log
-- needs: kernel or graph_launch
-- includes: finding, sidecar, power
-- selects: part
-- parts: kernels
-- unit: %
-- fires: below
-- weight: warning
-- param: threshold = 90 fires at or below this share of the highest clock
-- param: least = 3 fewest readings in busy time that are judged
-- column: clock_mhz | count | .0f | mean clock in busy time, MHz
-- column: highest_mhz | count | .0f | highest clock of the GPU, MHz
-- column: cause_text | text | | cause that the log shows
-- column: readings | count | | readings in busy time
-- says: The SM clock is {clock_mhz} MHz while the GPU works, {value} of its {highest_mhz} MHz: {cause_text}.
-- clear: The SM clock is {value} of its highest while the GPU works.
-- advice: [power, HIP] Raise the power limit where the board allows it (`amd-smi set --power-cap`), or expect these clocks.
-- advice: [power, else] Raise the power limit where the board allows it (`nvidia-smi -pl`; `nvidia-smi -q -d POWER` shows it), or expect these clocks.
-- advice: [temperature, HIP] Check airflow, fans and neighboring cards: cooling lowers the clocks (`amd-smi metric --temperature`).
-- advice: [temperature, else] Check airflow, fans and neighboring cards: cooling lowers the clocks (`nvidia-smi -q -d TEMPERATURE,PERFORMANCE`).
-- advice: [HIP] Compare only runs with the same clocks: `amd-smi set --perf-determinism` bounds them for measurements.
-- advice: [else] Compare only runs with the same clocks: `nvidia-smi -lgc MHZ` locks them for measurements; `nvidia-smi -q -d CLOCK,PERFORMANCE` names reasons.
-- source: NVIDIA omniperf diagnose-perf (clocks lowered, throttle reasons, 85 °C); 90 %: ours
WITH busy_reading AS (
    SELECT reading.* FROM (FROM power_reading WHERE sm_clock_mhz > 0) AS reading
    ASOF JOIN selected_busy AS work ON reading.gpu_id = work.device_id AND reading.time_ns >= work.start_ns
    WHERE reading.time_ns <= work.end_ns
), by_gpu AS (
    SELECT gpu_id, count(*) AS readings, avg(sm_clock_mhz) AS clock_mhz, avg(power_w) AS power_w,
        max(temperature_c) AS temperature_c
    FROM busy_reading GROUP BY gpu_id HAVING count(*) >= $least::INTEGER
), board AS (
    SELECT by_gpu.*, clock_hz / 1e6 AS highest_mhz, 100 * clock_mhz / (clock_hz / 1e6) AS pct, limit_w
    FROM by_gpu JOIN (SELECT gpu_id, nullif(clock_hz, 0) AS clock_hz FROM gpu) USING (gpu_id)
    LEFT JOIN power_limit USING (gpu_id)
), slowest AS (SELECT * FROM board ORDER BY pct, gpu_id LIMIT 1
), worked AS (SELECT device_id AS gpu_id, sum(end_ns - start_ns) AS ns FROM selected_busy GROUP BY device_id
)
SELECT pct AS value, 'Too few readings of the log lie in the busy time of the selection.' AS unjudged,
    CASE WHEN power_w >= 0.95 * limit_w THEN 'power' WHEN temperature_c >= 85 THEN 'temperature' END AS cause,
    (SELECT sum(worked.ns * greatest(0, 1 - pct / 100))::BIGINT FROM board JOIN worked USING (gpu_id)) AS saving_ns,
    clock_mhz, highest_mhz, readings, CASE WHEN power_w >= 0.95 * limit_w
            THEN format('it draws {:.0f} W of at most {:.0f} W', power_w, limit_w)
        WHEN temperature_c >= 85 THEN format('it is {:.0f} °C hot', temperature_c)
        ELSE 'neither power nor temperature tells why' END AS cause_text
FROM (SELECT 1) LEFT JOIN slowest ON true;
