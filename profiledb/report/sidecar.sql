-- Facts that the profiled program writes about itself (sidecar.py). Without such files these are empty; the library
-- overrides them with the files of a report.

-- Facts of the computation: batch, heads, tokens ... Dots join the names of nested values.
CREATE OR REPLACE VIEW meta AS SELECT NULL::VARCHAR AS key, NULL::VARCHAR AS value WHERE false;

-- The program's own timings, one row per measurement. Warm-up measurements have no step.
CREATE OR REPLACE VIEW timing AS
SELECT NULL::VARCHAR AS label, NULL::BIGINT AS step, NULL::DOUBLE AS seconds, NULL::BOOLEAN AS is_warmup WHERE false;

-- NVML readings of the machine's GPUs, one row per reading and GPU (columns: workloads.nvml). time_ns counts from 1970,
-- in UTC.
CREATE OR REPLACE VIEW power_log AS
SELECT NULL::BIGINT AS time_ns, NULL::INTEGER AS device, NULL::VARCHAR AS uuid, NULL::DOUBLE AS power_w,
    NULL::DOUBLE AS energy_mj, NULL::DOUBLE AS sm_clock_mhz, NULL::DOUBLE AS memory_clock_mhz,
    NULL::DOUBLE AS temperature_c, NULL::DOUBLE AS memory_used_bytes, NULL::DOUBLE AS gpu_utilisation_pct,
    NULL::DOUBLE AS memory_utilisation_pct WHERE false;

-- Times of the same work on CPU and GPU, one row per part and repetition, in execution order. A scheduler's decision
-- has one row per task, with its reasons (workloads.scheduler.decisions); device is none if nothing ran on a single
-- device: a refused task, or one repeated for its energy.
CREATE OR REPLACE VIEW task_time AS
SELECT NULL::VARCHAR AS task, NULL::BIGINT AS size, NULL::VARCHAR AS device, NULL::VARCHAR AS part,
    NULL::DOUBLE AS seconds, NULL::BIGINT AS time_ns, NULL::BIGINT AS repetitions, NULL::VARCHAR AS policy,
    NULL::VARCHAR AS load, NULL::VARCHAR AS reason, NULL::INTEGER AS gpu, NULL::DOUBLE AS cpu_predicted_s,
    NULL::DOUBLE AS gpu_predicted_s, NULL::DOUBLE AS decision_s, NULL::DOUBLE AS waited_s,
    NULL::DOUBLE AS gpu_utilisation_pct, NULL::DOUBLE AS memory_free_bytes, NULL::DOUBLE AS sm_clock_mhz,
    NULL::DOUBLE AS power_w, NULL::DOUBLE AS reading_age_s WHERE false;

-- The rows that a scheduler decided.
CREATE OR REPLACE VIEW task_decision AS SELECT * FROM task_time WHERE policy IS NOT NULL;

-- Facts under one of several names, at any nesting level. Figures per step, iteration or second (items_per_step.tokens)
-- are sums over a group of work and do not count.
CREATE OR REPLACE MACRO meta_fact(names) AS TABLE
SELECT key, value, len(string_split(key, '.')) AS depth FROM meta
WHERE list_contains(names, lower(regexp_extract(key, '[^.]*$')))
    AND NOT regexp_matches(key, '((^|[_.])per_|[a-z0-9]Per[A-Z])[^.]*\.');

-- The outermost such fact. NULL if there is none.
CREATE OR REPLACE MACRO meta_value(names) AS (SELECT value FROM meta_fact(names) ORDER BY depth, key LIMIT 1);
