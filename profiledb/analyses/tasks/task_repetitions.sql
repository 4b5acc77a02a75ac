-- title: Repetitions of the same work on CPU and GPU
-- One row per task, size, device and repetition of the timings beside the report. If a task, size and device has more
-- than `points`, a subset spread evenly over their order is kept.
-- page: cpu_vs_gpu
-- needs: task_time
-- includes: sidecar, task
-- param: points = 500 at most this many per task, size and device
-- column: task | text | | task that was computed
-- column: size | count | | task size, in the program's count
-- column: device | text | | cpu or gpu
-- column: repetition | count | | number of the repetition, from 1
-- column: total_ns | ns | | all parts together; empty if it lacks one that others have
-- column: compute_ns | ns | | the part compute; empty without it
WITH run AS (
    SELECT *, min(row) OVER (PARTITION BY task) AS task_row,
        count(*) OVER (PARTITION BY task, size, device) AS many FROM task_run
)
SELECT task, size, device, repetition, total_ns, compute_ns FROM run
WHERE many <= $points::INTEGER
    OR (repetition * $points::INTEGER) // many > ((repetition - 1) * $points::INTEGER) // many
ORDER BY task_row, size, device, repetition;
