-- title: Decisions of a scheduler
-- One row per decision in the log beside the report, in order: device and reason, predicted and measured time, regret,
-- and NVML readings of the GPU. If a policy has more than `points`, an even subset is kept.
-- page: cpu_vs_gpu
-- needs: task_decision
-- includes: sidecar, scheduler
-- param: policy =  keeps decisions of this policy
-- param: points = 5000 at most this many per policy
-- column: number | count | | number of the decision in the log, from 1
-- column: since_ns = Time | ns | .0f | time, from the first decision of the log
-- column: policy_ns = Time | ns | .0f | time, from the first decision of its policy
-- column: policy | text | | scheduling policy
-- column: load | text | | other load on the GPU, from the program: free, competing
-- column: task | text | | task to compute
-- column: size | count | | task size, in the program's count
-- column: device | text | | cpu, gpu, or none if it was refused or failed
-- column: gpu = GPU | id | | number of the GPU
-- column: reason | text | | the scheduler's reason
-- column: ns = Took | ns | .0f | measured time of the task; empty if the program did not report it
-- column: predicted_ns = Predicted | ns | .0f | predicted time on the chosen device, under the current load
-- column: cpu_predicted_ns = CPU predicted | ns | .0f | predicted time on the CPU
-- column: gpu_predicted_ns = GPU predicted | ns | .0f | predicted time on the GPU
-- column: error_pct = Error | % | .2f | absolute error as a share of the predicted time on the chosen device
-- column: cpu_ns = CPU | ns | .0f | median time of this size on the CPU under this load
-- column: gpu_ns = GPU | ns | .0f | median time of this size on the GPU under this load
-- column: regret_ns = Regret | ns | .0f | time of the chosen device beyond the faster one, by these medians
-- column: waited_ns = Waited | ns | .0f | time that the task waited for a GPU
-- column: decision_ns = Decision | ns | .0f | time of the decision
-- column: utilization_pct = GPU use | % | .1f | GPU utilization in NVML's last reading before the decision
-- column: memory_free_bytes = Memory free | bytes | .0f | free GPU memory in NVML's last reading
-- column: sm_clock_mhz = SM clock | MHz | .0f | SM clock in NVML's last reading
-- column: power_w = Power | W | .1f | GPU power in NVML's last reading
-- column: reading_age_ns = Age of reading | ns | .0f | age of NVML's last reading
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
