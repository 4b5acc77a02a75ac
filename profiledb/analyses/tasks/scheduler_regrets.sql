-- title: Decisions with regret
-- One row per policy, task, size, load and device that was chosen although the other one is faster, by what both were
-- measured to take; those that cost most come first.
-- page: cpu_vs_gpu
-- needs: task_decision
-- includes: sidecar, scheduler
-- param: most = 100 at most this many rows per policy
-- column: policy | text | | who decided
-- column: task | text | | what was computed
-- column: size | count | | how large, as the program counts
-- column: load | text | | what else used the GPU, as the program says: free, competing
-- column: device = Chosen | text | | device that was chosen
-- column: decisions = Tasks | count | | such decisions
-- column: regret_ns = Regret | ns | .0f | what they took longer than on the other device
-- column: share_pct = Of the regret | % | .1f | the same of the regret of the policy
-- column: cpu_ns = CPU took | ns | .0f | what this size takes on the CPU, median
-- column: cpu_predicted_ns = CPU predicted | ns | .0f | median of the predictions for the CPU
-- column: gpu_ns = GPU took | ns | .0f | what this size takes on the GPU, median
-- column: gpu_predicted_ns = GPU predicted | ns | .0f | median of the predictions for the GPU
-- column: reason | text | | why it was chosen, as the scheduler said most often
WITH cost AS (
    SELECT policy, task, size, load, device, count(*) AS decisions, sum(regret_ns) AS regret_ns,
        100 * sum(regret_ns) / sum(sum(regret_ns)) OVER (PARTITION BY policy) AS share_pct, any_value(cpu_ns) AS cpu_ns,
        median(cpu_predicted_ns) AS cpu_predicted_ns, any_value(gpu_ns) AS gpu_ns,
        median(gpu_predicted_ns) AS gpu_predicted_ns, mode(reason ORDER BY number) AS reason
    FROM judged_decision WHERE regret_ns > 0 GROUP BY policy, task, size, load, device
)
SELECT * FROM cost
QUALIFY row_number() OVER (PARTITION BY policy ORDER BY regret_ns DESC, task, size, load, device) <= $most::INTEGER
ORDER BY policy, regret_ns DESC, task, size, load, device;
