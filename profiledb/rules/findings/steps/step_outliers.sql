-- title: Outlier steps
-- question: Do a few steps take much longer than the others?
-- The time that outliers, steps longer than `times` the median, take above the median, as a share of the time of all
-- steps that count (see `iterations`) in the loop of each process. A step lasts from its start on the CPU, or the end
-- of the previous step's GPU work if later, to its own end, or the end of its GPU work if later. A step that starts
-- late on the GPU ends late, and the next ones take less, so the value is at most the time of all steps above that many
-- medians. These do not count: a single outlier of less than `least_ns` above the median, which the operating system
-- causes now and then; outliers that all lie in the first third, like a long warm-up; and the last step alone, which
-- may include the end of the program. The rule needs at least 4 steps and skips loops over sizes (tokens_512,
-- tokens_1024).
-- needs: range
-- includes: waiting
-- selects: part
-- once: finding_steps
-- parts: all
-- level: symptom
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the time of all steps
-- param: times = 1.5 an outlier takes more than this many times the median
-- param: least_ns = 1000000 a single outlier counts only if it exceeds the median by at least this
-- column: outliers | count | | steps that take more than `times` the median
-- column: steps | count | | steps that count
-- column: times | text | | multiple of the median above which a step is an outlier
-- column: median_ns | ns | .1f | median step time
-- column: longest_ns | ns | | the longest step
-- column: range | name | | the longest step
-- says: {outliers} of {steps} steps {outliers|takes|take} over {times} times the median of {median_ns}, the longest {longest_ns} ({range}). {outliers|That costs|They cost} {value} of the time of all steps.
-- clear: Outlier steps cost {value} of the time of all steps.
-- advice: [torch.compile or JAX or XLA] Compare {range|the longest step} with the step before it on the timeline: a new shape that compiles, validation, a checkpoint, garbage collection, or a late batch.
-- advice: [else, CUDA C++ or Fortran or OpenACC or OpenMP offload] Compare {range|the longest step} with the step before it on the timeline: output, a checkpoint, allocation, or other work on the machine.
-- advice: [else] Compare {range|the longest step} with the step before it on the timeline: validation, a checkpoint, a new shape (`cudnn.benchmark`), garbage collection, or a late batch.
-- source: nsys-ai iteration_timing (step > 1.5 times the median); share of the time: ours
SELECT NULL AS value, 'The selection has fewer than 4 steps.' AS unjudged, 0 AS saving_ns, 0 AS outliers, 0 AS steps,
    format('{:g}', $times::DOUBLE) AS times, NULL AS median_ns, NULL AS longest_ns, NULL AS range, NULL AS evidence
FROM finding_step HAVING count(*) = 0;

WITH step AS MATERIALIZED (FROM finding_step
), outlier AS (
    SELECT * FROM step WHERE ns > $times::DOUBLE * median_ns
    QUALIFY (count(*) OVER (PARTITION BY pid) > 1 OR ns - median_ns >= $least_ns::BIGINT)
        AND bool_or(3 * place > steps AND place < steps) OVER (PARTITION BY pid)
), total AS (
    SELECT count(*) AS steps, sum(ns) AS ns, median(ns) AS median_ns FROM step
), lost AS (
    SELECT least(sum(outlier.ns - outlier.median_ns), greatest(0, any_value(all_ns - steps * outlier.median_ns))) AS ns
    FROM outlier JOIN (SELECT pid, sum(ns) AS all_ns FROM step GROUP BY pid) USING (pid) GROUP BY pid
), above AS (
    SELECT count(*) AS outliers, (SELECT coalesce(sum(ns), 0)::BIGINT FROM lost) AS ns, max(ns) AS longest_ns,
        arg_max(path, ns) AS path
    FROM outlier
), shown AS (
    SELECT ns, start_ns, {
            'name': path, 'ns': (ns - median_ns)::BIGINT, 'start_ns': start_ns, 'end_ns': end_ns, 'range': path
        } AS piece
    FROM outlier ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN steps >= 4 THEN 100.0 * above.ns / nullif(total.ns, 0) END AS value,
    CASE WHEN steps < 4 THEN 'The selection has fewer than 4 steps.' END AS unjudged,
    above.ns AS saving_ns, outliers, steps, format('{:g}', $times::DOUBLE) AS times, total.median_ns, longest_ns,
    path AS range,
    (SELECT list(piece ORDER BY ns DESC, start_ns) FROM shown) AS evidence
FROM total CROSS JOIN above;
