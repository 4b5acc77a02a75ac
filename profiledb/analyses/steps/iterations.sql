-- title: Steps
-- Steps of loops, from ranges: on each thread the ranges whose paths differ only in the last number of each name
-- (step_0, step_1; the pattern is step_*), or that share one path. Numbers with a hole in a batch or around steps are
-- sizes and separate loops (batch_1/step_*, batch_8/step_*), and so do those around steps that run different kernels
-- for different numbers. They count as steps if the name says so (step, iter, iteration, batch, epoch) and there are
-- two or more, or if they come from the PyTorch profiler (ProfilerStep#5), which precede others. Otherwise it is on
-- each thread the pattern with the most GPU time and at least three instances that cover at least half of the time of
-- the enclosing ranges, or of the outermost ranges of the thread; at most one range is around them, and they are not
-- called layer, block or stage. In a PyTorch trace of a training they hold work of both passes and of the optimizer;
-- operators, collectives and data loader batches are not steps. Rank 1 is not warm-up, has a step name, and the most
-- GPU time. `range_instances` defines warm-up; all steps in a warm-up range are warm-up. If a pattern has more than
-- `points`, the extremes of each stretch are kept.
-- page: ranges
-- show: number, name 200, start_ns, gpu_ns, busy_ns, cpu_ns, gap_ns, operations
-- prefetch: part rank=1
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- once: steps
-- param: rank =  keeps steps of this rank
-- param: points = 2000 at most this many rows per pattern
-- column: rank | count | | rank of the pattern, from 1
-- column: steps | text | | path with a star for the number that changes
-- column: thread | text | | process and thread id of the opening thread
-- column: number = Step | count | | number of the step in time order, from 1
-- column: name = Range | text | | name of the range
-- column: path | text | | path of the range, as a selection accepts it
-- column: range_id | id | | number of the range in the report
-- column: start_ns = Start | ns | | start, from the start of the capture
-- column: cpu_ns = CPU | ns | | duration on the CPU, from start to end
-- column: gpu_ns = GPU | ns | | from its first GPU operation to the end of its last, gaps included
-- column: busy_ns = GPU busy | ns | | time in which its operations ran
-- column: operations | count | | kernels, memcpy, memset and whole CUDA graphs; empty if the report has none in ranges
-- column: gap_ns = Since the last | ns | | time from the end of the previous step
-- column: is_warmup | bool | | whether it looks like warm-up
-- column: closed | bool | | false if it was cut off: never closed, or the last one without GPU work while all others have some
-- column: instances | count | | number of all steps of the pattern, shown or not
WITH step AS MATERIALIZED (
    FROM selected_step(selected_mode()) WHERE $rank::INTEGER IS NULL OR rank = $rank::INTEGER
), shown AS (
    SELECT rank, unnest(CASE WHEN any_value(steps) <= $points::INTEGER THEN list(number)
        ELSE [arg_min(number, cpu_ns), arg_max(number, cpu_ns), arg_min(number, gpu_ns),
            arg_max(number, gpu_ns)] END) AS number
    FROM step GROUP BY rank, (number - 1) // (steps // greatest(1, $points::INTEGER // 4) + 1)
)
SELECT rank, label AS steps, thread_label(global_tid) AS thread, number, name, path, range_id,
    step.start_ns - capture_window.start_ns AS start_ns, cpu_ns, gpu_ns, busy_ns, operations, gap_ns, is_warmup, closed,
    steps AS instances
FROM step SEMI JOIN shown USING (rank, number) CROSS JOIN capture_window
ORDER BY rank, number;
