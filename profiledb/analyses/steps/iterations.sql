-- title: Steps
-- The steps of loops, as ranges tell them: on each thread the ranges whose paths differ by no more than the last number
-- of each name (step_0, step_1; the pattern is step_*), or that have one path. Numbers with a hole in a batch or around
-- steps are sizes and tell loops apart (batch_1/step_*, batch_8/step_*), and so do those around steps that run other
-- kernels from number to number. They count as steps where the name says so (step, iter, iteration, batch, epoch) and
-- there are two or more, or they are those of the PyTorch profiler (ProfilerStep#5), which come before others. Where
-- none says so, it is on each thread the pattern of the most GPU time with at least three instances that cover at least
-- half of the time of the ranges around them, or of the outermost ranges of the thread; at most one range is around
-- them, and they are not called layer, block or stage. In a PyTorch trace of a training they hold work of both passes
-- and of the optimizer; operators, collectives and batches of a data loader are no steps. Rank 1 is no warm-up, has a
-- name that says so, and the most GPU time. Which ones look like a warm-up is told as in `range_instances`; all of
-- those that lie in a range called warm-up are one. Where a pattern has more than `points`, the extremes of each
-- stretch are kept.
-- page: ranges
-- show: number, name 200, start_ns, gpu_ns, busy_ns, cpu_ns, gap_ns, operations
-- prefetch: part rank=1
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- once: steps
-- param: rank =  steps of this rank alone
-- param: points = 2000 at most this many rows per pattern
-- column: rank | count | | rank of the pattern, from 1
-- column: steps | text | | pattern: path with a star for the number that changes
-- column: thread | text | | thread that opened them: process and thread id
-- column: number = Step | count | | number of the step in the order of time, from 1
-- column: name = Range | text | | name of the range
-- column: path | text | | its path, as a selection takes it
-- column: range_id | id | | number of the range in the report
-- column: start_ns = Start | ns | | start, from the start of the capture
-- column: cpu_ns = CPU | ns | | between start and end on the CPU
-- column: gpu_ns = GPU | ns | | from its first GPU operation to the end of its last, gaps included
-- column: busy_ns = GPU busy | ns | | time in which its operations ran
-- column: operations | count | | kernels, memcpy, memset and whole CUDA graphs; empty if the report has none in ranges
-- column: gap_ns = Since the last | ns | | from the end of the previous step
-- column: is_warmup | bool | | whether it looks like a warm-up
-- column: closed | bool | | false if the capture ended inside it
-- column: instances | count | | all steps of the pattern, shown or not
WITH step AS MATERIALIZED (
    FROM selected_step(selected_mode()) WHERE $rank::INTEGER IS NULL OR rank = $rank::INTEGER
), kept AS (
    SELECT rank, unnest(CASE WHEN any_value(steps) <= $points::INTEGER THEN list(number)
        ELSE [arg_min(number, cpu_ns), arg_max(number, cpu_ns), arg_min(number, gpu_ns),
            arg_max(number, gpu_ns)] END) AS number
    FROM step GROUP BY rank, (number - 1) // (steps // greatest(1, $points::INTEGER // 4) + 1)
)
SELECT rank, label AS steps, thread_label(global_tid) AS thread, number, name, path, range_id,
    step.start_ns - capture_window.start_ns AS start_ns, cpu_ns, gpu_ns, busy_ns, operations, gap_ns, is_warmup, closed,
    steps AS instances
FROM step SEMI JOIN kept USING (rank, number) CROSS JOIN capture_window
ORDER BY rank, number;
