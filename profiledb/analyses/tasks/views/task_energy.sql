-- Energy of tasks repeated beside a power log (part repeated of task_time of sidecar.sql).
-- includes: sidecar, power

-- One row per task and size. Power is the mean over the stretches of known energy (power.sql) within the repetitions;
-- the time of a repetition is the total time over their number. Without such a stretch there is no row.
CREATE OR REPLACE VIEW task_energy AS
WITH repeated AS (
    SELECT row_number() OVER () AS place, task, size, seconds, repetitions,
        time_ns - epoch_ns(captured_at) AS first_ns, first_ns + seconds * 1e9 AS last_ns
    FROM task_time CROSS JOIN report
    WHERE part = 'repeated' AND repetitions > 0 AND seconds BETWEEN 1e-9 AND 1e6 AND time_ns < 4e18
), drawn AS (
    SELECT place, gpu_id, 1e9 * sum(joules) / sum(ns) AS mean_w
    FROM repeated JOIN power_interval ON start_ns >= first_ns AND end_ns <= last_ns
    GROUP BY place, gpu_id
), board AS (
    SELECT place, sum(mean_w) AS mean_w FROM drawn GROUP BY place
)
SELECT task, size, sum(mean_w * seconds) / sum(repetitions) AS energy_j, sum(mean_w * seconds) / sum(seconds) AS mean_w
FROM repeated JOIN board USING (place) GROUP BY task, size;

-- Lowest power in the log, of all GPUs together: approximately the idle power.
CREATE OR REPLACE VIEW idle_power AS
SELECT sum(least_w) AS idle_w
FROM (SELECT gpu_id, min(power_w) AS least_w FROM power_reading WHERE power_w > 0 GROUP BY gpu_id);
