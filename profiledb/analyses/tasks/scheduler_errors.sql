-- title: Errors of predicted times by task
-- One row per policy, task and device with predicted times: the size and direction of the errors.
-- page: cpu_vs_gpu
-- needs: task_decision
-- includes: sidecar, scheduler
-- column: policy | text | | scheduling policy
-- column: task | text | | task that was computed
-- column: device | text | | cpu or gpu
-- column: runs = Tasks | count | | runs with a predicted time
-- column: predicted_ns = Predicted | ns | .0f | sum of predicted times
-- column: measured_ns = Took | ns | .0f | sum of measured times
-- column: error_pct = Error | % | .2f | median absolute error
-- column: ratio = Predicted / took | ratio | .3f | median of predicted over measured: above 1 the run was faster than predicted
-- column: worst_size | count | | size with the largest median error
-- column: worst_error_pct = Error at worst size | % | .2f | median error at this size
WITH own AS (
    SELECT * FROM decision WHERE error_pct IS NOT NULL
), sized AS (
    SELECT policy, task, device, size, median(error_pct) AS error_pct FROM own GROUP BY ALL
), worst AS (
    SELECT policy, task, device, arg_max(size, error_pct) AS worst_size, max(error_pct) AS worst_error_pct
    FROM sized GROUP BY ALL
)
SELECT policy, task, device, count(*) AS runs, sum(predicted_ns) AS predicted_ns, sum(ns) AS measured_ns,
    median(own.error_pct) AS error_pct, median(predicted_ns / ns) AS ratio, any_value(worst_size) AS worst_size,
    any_value(worst_error_pct) AS worst_error_pct
FROM own JOIN worst USING (policy, task, device)
GROUP BY policy, task, device ORDER BY policy, error_pct DESC, task, device;
