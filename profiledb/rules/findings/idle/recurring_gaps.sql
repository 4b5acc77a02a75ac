-- title: Gaps that recur every few steps
-- question: Does the GPU wait every few steps for the CPU to do something outside CUDA?
-- The excess of recurring gaps over the usual gap, as a share of the active span (first to last operation of each GPU).
-- Of each step that counts (see "Outlier steps") the rule takes the longest gap of at least `least_ns` in which the
-- launching thread is outside CUDA calls for at least 90 % of the time, in OS calls or not. A gap may start in the call
-- that read a result. The value is 0 unless at least 4 of these gaps take `times` the median or more, at most every
-- other step has one, and the number of steps between them varies by at most `steady` percent of its mean. Garbage
-- collection, logging and checkpoints every N steps cause such gaps. The rule needs at least 12 steps.
-- needs: kernel or memop or graph_launch
-- needs: api_call
-- needs: range
-- includes: finding, idle, waiting
-- selects: part
-- once: span, functions, idle, finding_steps
-- parts: host code
-- unit: %
-- fires: above
-- param: threshold = 2 fires at or above this share of the active span
-- param: least_ns = 1000000 shorter gaps do not count
-- param: times = 2 a recurring gap takes at least this many times the usual one
-- param: steady = 25 largest variation of the number of steps between recurring gaps, percent of its mean
-- column: gaps | count | | recurring gaps
-- column: every_steps | ratio | .1f | mean number of steps from one to the next
-- column: every | text | | the same number as text
-- column: steps | count | | steps that count
-- column: gap_ns | ns | .1f | mean duration of these gaps
-- column: usual_ns | ns | .1f | median over the longest gaps of all steps
-- column: range | name | | range with most of this time; * stands for its last number
-- says: Every {every} steps the GPU waits {gap_ns} while the CPU runs non-CUDA code, {gaps} times in {steps} steps, mostly in {range}. That costs {value} of the time.
-- says: Every {every} steps the GPU waits {gap_ns} while the CPU runs non-CUDA code, {gaps} times in {steps} steps. That costs {value} of the time.
-- clear: Gaps that recur every few steps cost {value} of the time.
-- advice: [CUDA C++ or Fortran or OpenACC or OpenMP offload] Move what the program does every {every} steps, such as output or checkpoints, to another thread or process.
-- advice: [else] Stop Python's garbage collection from running in {place|steps}: after warm-up `gc.collect()`, `gc.freeze()` and `gc.disable()`, and collect at a moment of your choice. Garbage collection is the usual cause if the program itself does nothing every {every} steps.
-- advice: [not CUDA C++, not Fortran, not OpenACC, not OpenMP offload] If the program writes logs, metrics or checkpoints every {every} steps, write them in another thread or process, or less often.
-- source: TensorRT-LLM hotspot-classification (gaps at a steady period without API calls), nsys-ai gc_impact; period in steps and all figures: ours
SELECT NULL AS value, 'The selection has fewer than 12 steps.' AS unjudged, 0 AS saving_ns, NULL AS gaps,
    NULL AS every_steps, NULL AS every, NULL AS steps, NULL AS gap_ns, NULL AS usual_ns, NULL AS range, NULL AS evidence
FROM finding_step WHERE steps >= 12 HAVING count(*) = 0;

WITH gap AS MATERIALIZED (
    SELECT gap_id, any_value(device_id) AS device_id, any_value(start_ns) AS start_ns,
        any_value(duration_ns) AS duration_ns, any_value(tid) AS tid,
        arg_max(pre, ns) FILTER (reason IN ('host code', 'OS runtime call')) AS pre
    FROM selected_idle(2000, NULL) WHERE duration_ns >= $least_ns::BIGINT
    GROUP BY gap_id
    HAVING 10 * sum(ns) FILTER (reason IN ('host code', 'OS runtime call')) >= 9 * any_value(duration_ns)
), step AS MATERIALIZED (FROM finding_step WHERE steps >= 12
), met AS (  -- the last step that started before each gap
    SELECT gap.*, step.pid, place
    FROM (SELECT *, pid_of(tid) AS pid FROM gap) AS gap
    ASOF JOIN step ON gap.pid = step.pid AND gap.start_ns >= step.start_ns
), by_step AS (
    SELECT step.pid, step.place, any_value(steps) AS steps, coalesce(max(duration_ns), 0) AS ns
    FROM step LEFT JOIN met ON met.pid = step.pid AND met.place = step.place GROUP BY ALL
), usual AS (
    SELECT pid, any_value(steps) AS steps, median(ns) AS usual_ns FROM by_step GROUP BY pid
), long AS MATERIALIZED (
    SELECT met.*, steps, usual_ns FROM met JOIN usual USING (pid)
    WHERE duration_ns >= $times::DOUBLE * usual_ns
    QUALIFY row_number() OVER (PARTITION BY pid, device_id, place ORDER BY duration_ns DESC, gap_id) = 1
), apart AS (
    SELECT *, place - lag(place) OVER (PARTITION BY pid, device_id ORDER BY place) AS distance FROM long
), recurring AS (
    SELECT pid, device_id, count(*) AS gaps, avg(distance) AS every_steps, any_value(steps) AS steps,
        any_value(usual_ns) AS usual_ns, avg(duration_ns) AS gap_ns,
        sum(duration_ns - usual_ns)::BIGINT AS ns
    FROM apart GROUP BY pid, device_id
    HAVING count(*) >= 4 AND 2 * count(*) <= any_value(steps) AND avg(distance) >= 2
        AND 100 * stddev_pop(distance) <= $steady::DOUBLE * avg(distance)
), total AS (SELECT coalesce(sum(ns), 0)::BIGINT AS ns FROM recurring
), main AS (FROM recurring ORDER BY ns DESC, pid, device_id LIMIT 1
), place AS (
    SELECT pattern FROM (FROM long SEMI JOIN recurring USING (pid, device_id)) LEFT JOIN idle_pattern USING (pre)
    GROUP BY pattern ORDER BY sum(duration_ns) DESC, pattern LIMIT 1
), shown AS (
    SELECT duration_ns AS ns, gap_id, {
            'name': coalesce(path, 'Outside all ranges'), 'ns': duration_ns, 'start_ns': long.start_ns,
            'end_ns': long.start_ns + duration_ns, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM long SEMI JOIN recurring USING (pid, device_id) ORDER BY duration_ns DESC, gap_id LIMIT 10) AS long
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT CASE WHEN EXISTS (FROM step) THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT EXISTS (FROM step) THEN 'The selection has fewer than 12 steps.' END AS unjudged,
    total.ns AS saving_ns, gaps, every_steps, format('{:g}', round(every_steps, 1)) AS every, steps, gap_ns, usual_ns,
    (SELECT pattern FROM place) AS range,
    (SELECT list(piece ORDER BY ns DESC, gap_id) FROM shown) AS evidence
FROM finding_window CROSS JOIN total LEFT JOIN main ON true;
