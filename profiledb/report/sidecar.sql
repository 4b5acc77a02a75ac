-- What the program that was profiled says of itself (sidecar.py). Without such files these
-- are empty; the library puts the files of a report in front.

-- What it computed: batch, heads, tokens ... Names of nested values are joined by dots.
CREATE OR REPLACE VIEW meta AS SELECT NULL::VARCHAR AS key, NULL::VARCHAR AS value WHERE false;

-- What its own timers measured, a row a measurement. One of a warm-up has no step.
CREATE OR REPLACE VIEW timing AS
SELECT NULL::VARCHAR AS label, NULL::BIGINT AS step, NULL::DOUBLE AS seconds, NULL::BOOLEAN AS is_warmup WHERE false;

-- What NVML told of the GPUs of the machine, a row a reading and GPU (workloads.nvml says what each column is).
-- time_ns counts from 1970, in UTC.
CREATE OR REPLACE VIEW power_log AS
SELECT NULL::BIGINT AS time_ns, NULL::INTEGER AS device, NULL::VARCHAR AS uuid, NULL::DOUBLE AS power_w,
    NULL::DOUBLE AS energy_mj, NULL::DOUBLE AS sm_clock_mhz, NULL::DOUBLE AS memory_clock_mhz,
    NULL::DOUBLE AS temperature_c, NULL::DOUBLE AS memory_used_bytes, NULL::DOUBLE AS gpu_utilisation_pct,
    NULL::DOUBLE AS memory_utilisation_pct WHERE false;

-- Times of the same work on CPU and GPU, a row a part and repetition, in the order in which they ran. What a scheduler
-- decided has a row a task, with its reasons (workloads.scheduler.decisions); device is none where nothing ran on one
-- device alone: a task that was refused, or one that was repeated for its energy.
CREATE OR REPLACE VIEW task_time AS
SELECT NULL::VARCHAR AS task, NULL::BIGINT AS size, NULL::VARCHAR AS device, NULL::VARCHAR AS part,
    NULL::DOUBLE AS seconds, NULL::BIGINT AS time_ns, NULL::BIGINT AS repetitions, NULL::VARCHAR AS policy,
    NULL::VARCHAR AS load, NULL::VARCHAR AS reason, NULL::INTEGER AS gpu, NULL::DOUBLE AS cpu_predicted_s,
    NULL::DOUBLE AS gpu_predicted_s, NULL::DOUBLE AS decision_s, NULL::DOUBLE AS waited_s,
    NULL::DOUBLE AS gpu_utilisation_pct, NULL::DOUBLE AS memory_free_bytes, NULL::DOUBLE AS sm_clock_mhz,
    NULL::DOUBLE AS power_w, NULL::DOUBLE AS reading_age_s WHERE false;

-- Those of them that a scheduler decided.
CREATE OR REPLACE VIEW task_decision AS SELECT * FROM task_time WHERE policy IS NOT NULL;

-- Facts under one of several names, wherever they are nested. Figures per step, iteration or second
-- (items_per_step.tokens) are sums over a group of work: they are none of these.
CREATE OR REPLACE MACRO meta_fact(names) AS TABLE
SELECT key, value, len(string_split(key, '.')) AS depth FROM meta
WHERE list_contains(names, lower(regexp_extract(key, '[^.]*$')))
    AND NOT regexp_matches(key, '((^|[_.])per_|[a-z0-9]Per[A-Z])[^.]*\.');

-- The outermost such fact. NULL where there is none.
CREATE OR REPLACE MACRO meta_value(names) AS (SELECT value FROM meta_fact(names) ORDER BY depth, key LIMIT 1);
