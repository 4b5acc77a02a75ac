-- title: Repetitions of the same work on CPU and GPU
-- One row per task, size, device and repetition of the times that lie beside the report. Of more than `points` of a
-- task, size and device as many are kept, spread evenly over their order.
-- page: cpu_vs_gpu
-- needs: task_time
-- includes: sidecar, task
-- param: points = 500 at most this many per task, size and device
-- column: task | text | | what was computed
-- column: size | count | | how large, as the program counts
-- column: device | text | | cpu or gpu
-- column: repetition | count | | number of the repetition, from 1
-- column: total_ns | ns | | all parts together; empty where it lacks one that others have
-- column: compute_ns | ns | | the part compute; empty where there is none
WITH run AS (
    SELECT *, min(row) OVER (PARTITION BY task) AS task_row,
        count(*) OVER (PARTITION BY task, size, device) AS many FROM task_run
)
SELECT task, size, device, repetition, total_ns, compute_ns FROM run
WHERE many <= $points::INTEGER
    OR (repetition * $points::INTEGER) // many > ((repetition - 1) * $points::INTEGER) // many
ORDER BY task_row, size, device, repetition;
