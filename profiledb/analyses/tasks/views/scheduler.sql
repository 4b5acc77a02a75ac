-- Decisions of a scheduler, and their results (task_decision of sidecar.sql).
-- includes: sidecar

-- One row per decision, in the order of the log. ns is empty if the task ran nowhere; predicted_ns is that of the
-- chosen device. Rows that only record a wait do not count, nor does a decision's row if its run has its own.
CREATE OR REPLACE VIEW decision AS
WITH placed AS (
    SELECT *, row_number() OVER () AS place FROM task_decision
), logged AS (
    SELECT * EXCLUDE (place), row_number() OVER (ORDER BY place) AS number,
        CASE WHEN device IN ('cpu', 'gpu') AND seconds < 1e9 THEN seconds * 1e9 END AS ns,
        cpu_predicted_s * 1e9 AS cpu_predicted_ns, gpu_predicted_s * 1e9 AS gpu_predicted_ns
    FROM placed
    WHERE part <> 'wait'
        AND (part = 'decided' AND time_ns IN (SELECT time_ns FROM task_decision WHERE part = 'run')) IS NOT TRUE
)
SELECT number, time_ns - min(time_ns) OVER () AS since_ns,
    time_ns - min(time_ns) OVER (PARTITION BY policy) AS policy_ns, policy, load, task, size, device, gpu, reason, ns,
    cpu_predicted_ns, gpu_predicted_ns,
    CASE device WHEN 'cpu' THEN cpu_predicted_ns WHEN 'gpu' THEN gpu_predicted_ns END AS predicted_ns,
    100 * abs(predicted_ns / nullif(ns, 0) - 1) AS error_pct, waited_s * 1e9 AS waited_ns,
    decision_s * 1e9 AS decision_ns, gpu_utilisation_pct AS utilization_pct, memory_free_bytes, sm_clock_mhz, power_w,
    reading_age_s * 1e9 AS reading_age_ns
FROM logged;

-- Time of a task and size on each device under a load: the median of the runs under the policy that always chooses this
-- device, if any, else of all. runs is the smaller number of runs behind the medians.
CREATE OR REPLACE VIEW decision_reference AS
SELECT task, size, load,
    coalesce(median(ns) FILTER (device = 'cpu' AND policy = 'cpu'), median(ns) FILTER (device = 'cpu')) AS cpu_ns,
    coalesce(median(ns) FILTER (device = 'gpu' AND policy = 'gpu'), median(ns) FILTER (device = 'gpu')) AS gpu_ns,
    least(
        coalesce(nullif(count(ns) FILTER (device = 'cpu' AND policy = 'cpu'), 0), count(ns) FILTER (device = 'cpu')),
        coalesce(nullif(count(ns) FILTER (device = 'gpu' AND policy = 'gpu'), 0), count(ns) FILTER (device = 'gpu'))
    ) AS runs
FROM decision GROUP BY task, size, load;

-- Decisions with the times of both devices; regret_ns is empty if one of them was never measured.
CREATE OR REPLACE VIEW judged_decision AS
SELECT decision.*, cpu_ns, gpu_ns, runs,
    CASE WHEN cpu_ns > 0 AND gpu_ns > 0 AND ns IS NOT NULL THEN least(cpu_ns, gpu_ns) END AS best_ns,
    CASE WHEN best_ns IS NOT NULL THEN CASE device WHEN 'cpu' THEN cpu_ns ELSE gpu_ns END END AS chosen_ns,
    chosen_ns - best_ns AS regret_ns
FROM decision JOIN decision_reference AS reference
    ON decision.task = reference.task AND decision.size = reference.size
    AND decision.load IS NOT DISTINCT FROM reference.load;
