-- title: Policies of a scheduler
-- One row per policy and load of the decisions beside the report; a policy with several loads also has a row for all.
-- Regret is the time of the tasks on the chosen devices over that on the faster ones, less one. The time on a device is
-- the median of the runs of that size under that load, of the policy that always chooses this device, if any. Sizes
-- measured on one device only have no regret.
-- page: cpu_vs_gpu
-- needs: task_decision
-- includes: sidecar, scheduler
-- column: policy | text | | scheduling policy
-- column: load | text | | other load on the GPU, from the program: free, competing; all of them together
-- column: decisions = Tasks | count | | number of decisions
-- column: on_cpu = On CPU | count | | tasks that ran on the CPU
-- column: on_gpu = On GPU | count | | tasks that ran on a GPU
-- column: refused = Not run | count | | tasks that were refused, or ended with an error
-- column: total_ns = Time | ns | .0f | measured time of the tasks, without waiting
-- column: waited_ns = Waited | ns | .0f | time that tasks waited for a GPU
-- column: joules = Energy | J | .1f | energy of all GPUs in that time, measured by the program (queue.POLICY.LOAD.joules of NAME.meta.json)
-- column: judged | count | | decisions with a regret
-- column: single_runs | count | | decisions with a regret whose size ran only once on a device, so that no median evens out chance
-- column: measured_ns | ns | .0f | measured time of the decisions with a regret
-- column: expected_ns | ns | .0f | expected time of these, from the medians of their sizes on the chosen devices
-- column: best_ns = Best time | ns | .0f | time of these on the faster devices
-- column: regret_ns = Regret | ns | .0f | excess time of these on the chosen devices
-- column: regret_pct = Regret | % | .2f | the same as a share of best_ns
-- column: cpu_regret_pct = Always CPU | % | .2f | regret of sending all of these to the CPU
-- column: gpu_regret_pct = Always GPU | % | .2f | regret of sending all of these to the GPU
-- column: predicted | count | | tasks that ran on a device with a predicted time
-- column: error_pct = Error | % | .2f | median error of the predicted times
-- column: decision_ns = Decision | ns | .0f | median time of a decision
-- column: decision_p99_ns = Decision P99 | ns | .0f | 99th percentile of the decision time
WITH energy AS (
    SELECT regexp_extract(key, '^queue\.(.+)\.([^.]+)\.joules$', ['policy', 'load']) AS parts,
        TRY_CAST(value AS DOUBLE) AS joules
    FROM meta WHERE regexp_matches(key, '^queue\..+\.[^.]+\.joules$')
), half AS (
    SELECT parts.policy AS policy, parts.load AS load, any_value(joules) AS joules
    FROM energy WHERE joules >= 0 GROUP BY ALL
), counted AS (
    SELECT * EXCLUDE (load), load, false AS is_all FROM judged_decision WHERE load IS NOT NULL
    UNION ALL
    SELECT * EXCLUDE (load), 'all', true FROM judged_decision
    WHERE policy IN (SELECT policy FROM decision GROUP BY policy
        HAVING count(DISTINCT load) <> 1 OR count(load) < count(*))
), figure AS (
    SELECT policy, load, is_all, min(number) AS first_number, count(*) AS decisions,
        count(ns) FILTER (device = 'cpu') AS on_cpu, count(ns) FILTER (device = 'gpu') AS on_gpu,
        count(*) FILTER (device = 'none') AS refused, sum(ns) AS total_ns,
        sum(waited_ns) AS waited_ns, count(regret_ns) AS judged,
        count(regret_ns) FILTER (runs = 1) AS single_runs, sum(ns) FILTER (regret_ns IS NOT NULL) AS measured_ns,
        sum(chosen_ns) AS expected_ns, sum(best_ns) AS best_ns, sum(regret_ns) AS regret_ns,
        100 * sum(regret_ns) / nullif(sum(best_ns), 0) AS regret_pct,
        100 * (sum(cpu_ns) FILTER (best_ns IS NOT NULL) / nullif(sum(best_ns), 0) - 1) AS cpu_regret_pct,
        100 * (sum(gpu_ns) FILTER (best_ns IS NOT NULL) / nullif(sum(best_ns), 0) - 1) AS gpu_regret_pct,
        count(error_pct) AS predicted, median(error_pct) AS error_pct, median(decision_ns) AS decision_ns,
        quantile_cont(decision_ns, 0.99) AS decision_p99_ns
    FROM counted GROUP BY policy, load, is_all
), all_joules AS (
    SELECT policy, sum(joules) AS joules, count(*) AS halves FROM half GROUP BY policy
)
SELECT figure.policy, figure.load, decisions, on_cpu, on_gpu, refused, total_ns, waited_ns,
    CASE WHEN NOT is_all THEN half.joules
        WHEN halves = (SELECT count(*) FROM figure AS own WHERE own.policy = figure.policy AND NOT own.is_all)
            THEN all_joules.joules END AS joules,
    judged, single_runs, measured_ns, expected_ns, best_ns, regret_ns,
    regret_pct, cpu_regret_pct, gpu_regret_pct, predicted, error_pct, decision_ns,
    decision_p99_ns
FROM figure LEFT JOIN half ON half.policy = figure.policy AND half.load = figure.load AND NOT is_all
LEFT JOIN all_joules ON all_joules.policy = figure.policy
ORDER BY min(first_number) OVER (PARTITION BY figure.policy), is_all, first_number;
