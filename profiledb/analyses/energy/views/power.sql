-- Energy from the log of power beside a report (power_log of sidecar.sql).
-- includes: selection, sidecar

-- GPUs that count: the selected one, else those with work, else all.
CREATE OR REPLACE VIEW energy_gpu AS
WITH used AS (SELECT DISTINCT device_id AS gpu_id FROM busy)
SELECT gpu_id FROM used WHERE selected_device() IS NULL
UNION SELECT gpu_id FROM gpu WHERE selected_device() IS NULL AND NOT EXISTS (FROM used)
UNION SELECT DISTINCT device FROM power_log
WHERE selected_device() IS NULL AND NOT EXISTS (FROM used) AND NOT has_rows('gpu')
UNION SELECT selected_device() WHERE selected_device() IS NOT NULL;

-- Readings of these GPUs on the report's clock, whose time 0 is the start of the session. The uuid identifies a GPU,
-- with or without the prefix GPU-; if log or report lacks it, the number does.
CREATE OR REPLACE VIEW power_reading AS
WITH board AS (
    SELECT energy_gpu.gpu_id, nullif(regexp_replace(lower(uuid), '^gpu-', ''), '') AS uuid
    FROM energy_gpu LEFT JOIN gpu USING (gpu_id)
), reading AS (
    SELECT time_ns - epoch_ns(captured_at) AS time_ns, device,
        nullif(regexp_replace(lower(uuid), '^gpu-', ''), '') AS uuid,
        CASE WHEN isfinite(power_w) AND power_w >= 0 THEN power_w END AS power_w,
        CASE WHEN isfinite(energy_mj) THEN energy_mj / 1000 END AS counter_j,
        power_log.* EXCLUDE (time_ns, device, uuid, power_w, energy_mj)
    FROM power_log CROSS JOIN report WHERE time_ns < 4e18
)
SELECT gpu_id, reading.* EXCLUDE (uuid)
FROM board JOIN reading ON CASE WHEN board.uuid IS NULL OR reading.uuid IS NULL THEN board.gpu_id = reading.device
    ELSE board.uuid = reading.uuid END
WHERE reading.time_ns IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY gpu_id, reading.time_ns ORDER BY counter_j DESC NULLS LAST, power_w) = 1;

-- Power limits from the sidecar (gpus.N.power_limit_w), by NVML's numbers.
CREATE OR REPLACE VIEW power_limit AS
SELECT gpu_id, TRY_CAST(value AS DOUBLE) AS limit_w
FROM (SELECT gpu_id, any_value(device) AS device FROM power_reading GROUP BY gpu_id)
JOIN meta ON key = concat('gpus.', device, '.power_limit_w')
WHERE isfinite(limit_w) AND limit_w > 0;

-- Stretches of time with a known GPU energy: between two successive changes of the counter, each at the first reading
-- that shows it. Where the counter goes backward (a reloaded driver), nothing is known. A GPU without a moving counter
-- uses the trapezoid of power between readings instead.
--
-- p_min_w and p_max_w are the lowest and highest power that the log proves: from a reading, or from an energy over the
-- shortest or longest possible time. A change may be older than the first reading that shows it: by up to the time
-- since the reading before, but no more than the driver's period, which is the median stretch. Until then the GPU drew
-- at most late_start_j, or late_end_j at the other end, which the counter adds to the other stretch. Readings are
-- averages, so work shorter than the period may draw more than any of them: a known power limit is p_max_w if it is
-- higher.
--
-- Profilers stop a program at the start and end of a capture, and the log with it. A stretch with such a hole, longer
-- than the period, has one power up to the last reading before it (w, until cut_ns) and another in it (hole_w), in the
-- ratio of the readings before and after it; in every other stretch both are its mean.
CREATE OR REPLACE VIEW power_interval AS
WITH reading AS MATERIALIZED (
    SELECT gpu_id, time_ns, power_w, counter_j FROM power_reading
), counted AS (
    SELECT *, lag(time_ns) OVER by_time AS seen_ns, lag(counter_j) OVER by_time AS before_j,
        lag(power_w) OVER by_time AS seen_w
    FROM reading WHERE counter_j IS NOT NULL WINDOW by_time AS (PARTITION BY gpu_id ORDER BY time_ns)
), change AS (
    SELECT * FROM counted WHERE counter_j <> before_j
), by_counter AS (
    SELECT gpu_id, 'counter' AS source, lag(time_ns) OVER by_time AS start_ns, time_ns AS end_ns,
        counter_j - before_j AS joules,
        lag(seen_ns) OVER by_time AS start_seen_ns, seen_ns AS end_seen_ns, seen_w, power_w AS end_w
    FROM change WINDOW by_time AS (PARTITION BY gpu_id ORDER BY time_ns)
), by_power AS (
    SELECT gpu_id, 'power' AS source, lag(time_ns) OVER by_time AS start_ns, time_ns AS end_ns,
        (power_w + lag(power_w) OVER by_time) / 2 * (time_ns - start_ns) / 1e9 AS joules,
        start_ns AS start_seen_ns, end_ns AS end_seen_ns, NULL AS seen_w, NULL AS end_w
    FROM reading WHERE power_w IS NOT NULL WINDOW by_time AS (PARTITION BY gpu_id ORDER BY time_ns)
), stretch AS (
    SELECT * FROM by_counter WHERE joules > 0 AND start_ns IS NOT NULL
    UNION ALL
    SELECT * FROM by_power WHERE start_ns IS NOT NULL
        AND gpu_id NOT IN (SELECT gpu_id FROM by_counter WHERE joules > 0 AND start_ns IS NOT NULL)
), period AS (
    SELECT gpu_id, median(end_ns - start_ns) AS period_ns FROM stretch GROUP BY gpu_id
), holed AS (
    SELECT *, CASE WHEN end_ns - end_seen_ns > period_ns THEN end_seen_ns ELSE end_ns END AS cut_ns,
        CASE WHEN cut_ns < end_ns AND seen_w > 0 AND end_w > 0
            THEN (seen_w * (cut_ns - start_ns) + end_w * (end_ns - cut_ns)) / 1e9 END AS shape_j
    FROM stretch JOIN period USING (gpu_id)
), proved AS (
    SELECT gpu_id, min(least(power_w, CASE WHEN counted THEN low END)) AS p_min_w,
        greatest(max(greatest(power_w, CASE WHEN counted THEN high END)), any_value(limit_w)) AS p_max_w
    FROM (
        SELECT gpu_id, source = 'counter' AS counted, NULL AS power_w,
            joules / nullif(greatest(0, end_ns - least(end_ns - end_seen_ns, period_ns) - start_ns), 0) * 1e9 AS low,
            joules / (end_ns - start_ns + least(start_ns - start_seen_ns, period_ns)) * 1e9 AS high
        FROM stretch JOIN period USING (gpu_id)
        UNION ALL SELECT gpu_id, NULL, power_w, NULL, NULL FROM reading
    ) LEFT JOIN power_limit USING (gpu_id) GROUP BY gpu_id
)
SELECT gpu_id, source, row_number() OVER (PARTITION BY gpu_id ORDER BY start_ns) AS number, start_ns, end_ns,
    end_ns - start_ns AS ns, joules, p_min_w, p_max_w,
    (lag(end_ns) OVER by_time IS NOT DISTINCT FROM start_ns) AS follows,
    p_max_w * least(start_ns - start_seen_ns, period_ns) / 1e9 AS late_start_j,
    p_max_w * least(end_ns - end_seen_ns, period_ns) / 1e9 AS late_end_j, cut_ns,
    joules * coalesce(seen_w / shape_j, 1e9 / ns) AS w, joules * coalesce(end_w / shape_j, 1e9 / ns) AS hole_w
FROM holed JOIN proved USING (gpu_id)
WINDOW by_time AS (PARTITION BY gpu_id ORDER BY start_ns);

-- Whether an energy is shown at all: not if half of its interval is more than half of the energy.
CREATE OR REPLACE MACRO energy_measurable(joules, low_j, high_j) AS
coalesce(joules > 0 AND high_j - low_j <= joules, false);
