-- title: Decisions of a scheduler
-- One row per decision that lies beside the report, in their order: the device and why, what was predicted and
-- measured, the regret, and what NVML said of the GPU. Of more than `points` of a policy as many are kept, evenly.
-- page: cpu_vs_gpu
-- needs: task_decision
-- includes: sidecar, scheduler
-- param: policy =  decisions of this policy alone
-- param: points = 5000 at most this many per policy
-- column: number | count | | number of the decision in the log, from 1
-- column: since_ns = Time | ns | .0f | when, from the first decision of the log on
-- column: policy_ns = Time | ns | .0f | when, from the first decision of its policy on
-- column: policy | text | | who decided
-- column: load | text | | what else used the GPU, as the program says: free, competing
-- column: task | text | | what was to be computed
-- column: size | count | | how large, as the program counts
-- column: device | text | | cpu, gpu, or none where it was refused or failed
-- column: gpu = GPU | id | | number of the GPU
-- column: reason | text | | why, as the scheduler says
-- column: ns = Took | ns | .0f | time of the task as it ran; empty where the program did not tell
-- column: predicted_ns = Predicted | ns | .0f | predicted time on the device that was chosen, under the load of the moment
-- column: cpu_predicted_ns = CPU predicted | ns | .0f | predicted time on the CPU
-- column: gpu_predicted_ns = GPU predicted | ns | .0f | predicted time on the GPU
-- column: error_pct = Error | % | .2f | of the predicted time on the device that was chosen, without its sign
-- column: cpu_ns = CPU | ns | .0f | what this size takes on the CPU under this load, median
-- column: gpu_ns = GPU | ns | .0f | what this size takes on the GPU under this load, median
-- column: regret_ns = Regret | ns | .0f | what the chosen device takes longer than the faster one by these medians
-- column: waited_ns = Waited | ns | .0f | time that the task waited for a GPU
-- column: decision_ns = Decision | ns | .0f | time of the decision
-- column: utilization_pct = GPU use | % | .1f | use of the GPU that NVML reported last before the decision
-- column: memory_free_bytes = Memory free | bytes | .0f | free memory of the GPU, likewise
-- column: sm_clock_mhz = SM clock | MHz | .0f | clock of the SMs, likewise
-- column: power_w = Power | W | .1f | power of the GPU, likewise
-- column: reading_age_ns = Age of reading | ns | .0f | how old these readings were
WITH counted AS (
    SELECT *, row_number() OVER (PARTITION BY policy ORDER BY number) AS place,
        count(*) OVER (PARTITION BY policy) AS many
    FROM judged_decision WHERE $policy::VARCHAR IS NULL OR policy = $policy::VARCHAR
)
SELECT number, since_ns, policy_ns, policy, load, task, size, device, gpu, reason, ns, predicted_ns, cpu_predicted_ns,
    gpu_predicted_ns, error_pct, cpu_ns, gpu_ns, regret_ns, waited_ns, decision_ns, utilization_pct,
    memory_free_bytes, sm_clock_mhz, power_w, reading_age_ns
FROM counted
WHERE many <= $points::INTEGER OR (place * $points::INTEGER) // many > ((place - 1) * $points::INTEGER) // many
ORDER BY number;
