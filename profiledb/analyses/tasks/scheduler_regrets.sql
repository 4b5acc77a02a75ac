-- title: Decisions with regret
-- One row per policy, task, size, load and chosen device that is slower than the other one, by measured times; most
-- costly first.
-- page: cpu_vs_gpu
-- needs: task_decision
-- includes: sidecar, scheduler
-- param: most = 100 at most this many rows per policy
-- column: policy | text | | scheduling policy
-- column: task | text | | task that was computed
-- column: size | count | | task size, in the program's count
-- column: load | text | | other load on the GPU, from the program: free, competing
-- column: device = Chosen | text | | chosen device
-- column: decisions = Tasks | count | | number of such decisions
-- column: regret_ns = Regret | ns | .0f | excess time over the other device
-- column: share_pct = Of the regret | % | .1f | share of the policy's regret
-- column: cpu_ns = CPU took | ns | .0f | median time of this size on the CPU
-- column: cpu_predicted_ns = CPU predicted | ns | .0f | median prediction for the CPU
-- column: gpu_ns = GPU took | ns | .0f | median time of this size on the GPU
-- column: gpu_predicted_ns = GPU predicted | ns | .0f | median prediction for the GPU
-- column: reason | text | | the scheduler's most frequent reason for it
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
