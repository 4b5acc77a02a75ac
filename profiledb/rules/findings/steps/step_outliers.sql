-- title: Outlier steps
-- question: Do single steps take much longer than the others?
-- Of the steps that count (`iterations` says which) of the loop of each process: the time that steps longer than
-- `times` the median take above the median, as a share of the time of all steps. A step lasts from its start on the
-- CPU, or when the GPU is done with the step before, to its end or the end of all that it ran. What other steps make up
-- for counts nothing: a step that begins late on the GPU ends late, and the next ones take less. So the value is at
-- most what all steps take above so many medians. Nor does a single outlier of less than `least_ns` above the median,
-- which the operating system takes now and then. Nor do outliers count that are all in the first third of the steps, as
-- a warm-up that goes on is, or the last step alone, into which the end of the program reaches. Fewer than 4 steps are
-- not judged, nor loops over sizes (tokens_512, tokens_1024).
-- needs: range
-- includes: waiting
-- selects: part
-- once: finding_steps
-- parts: all
-- level: symptom
-- unit: %
-- fires: above
-- param: threshold = 2 share of the time of all steps from which on outliers count
-- param: times = 1.5 how many times the median a step takes to be an outlier
-- param: least_ns = 1000000 a single outlier by less than this does not count
-- column: outliers | count | | steps longer than that
-- column: steps | count | | steps that count
-- column: times | text | | how many times the median a step takes to be an outlier
-- column: median_ns | ns | .1f | median of the steps
-- column: longest_ns | ns | | the longest step
-- column: range | name | | the longest step
-- says: {outliers} of {steps} steps {outliers|takes|take} over {times} times the median of {median_ns}, the longest {longest_ns} ({range}). They cost {value} of the time of all steps.
-- clear: Outlier steps cost {value} of the time of all steps.
-- advice: [torch.compile or JAX or XLA] Compare {range|the longest step} with the step before it on the timeline: a new shape that compiles, validation, a checkpoint, garbage collection, or a late batch.
-- advice: [else, CUDA C++ or Fortran or OpenACC or OpenMP offload] Compare {range|the longest step} with the step before it on the timeline: output, a checkpoint, allocation, or other work on the machine.
-- advice: [else] Compare {range|the longest step} with the step before it on the timeline: validation, a checkpoint, a new shape (`cudnn.benchmark`), garbage collection, or a late batch.
-- source: NAI iteration_timing (step > 1.5 times the median); share of the time own
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
