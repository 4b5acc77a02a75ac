-- title: Steady part
-- The part of a program that repeats: from the begin of the first step that counts to the end of the last one, over all
-- processes (`iterations` says which count; the first that look like a warm-up do not). Where no ranges tell steps, it
-- is the part that iterations of kernels cover (`detected_iterations`). Findings judge this part alone: what a program
-- does once is no matter of its steps. There is none, and no row, with fewer than `least_steps` steps, or where less
-- than `least_pct` of the time lies outside; nor where the GPUs do less than a fifth of their work in it, unless they
-- work `denser` times as large a share of its time as outside: start-up may hold more work than a few steps do.
-- Iterations of kernels are a guess: they have to hold half of the work, cover `kernels_pct` of the time and leave
-- `outside_pct`. Where they hold `all_pct` of the work, they may cover less of the time: start-up is long, and nothing
-- else runs on the GPU. Those that lead, of the first third, above what the others take, are a warm-up.
-- needs: kernel or memop or graph_launch
-- includes: selection, step, waiting
-- selects: part
-- once: finding_steps, kernel_iterations, busy
-- param: least_steps = 4 fewer steps are no steady part
-- param: denser = 5 how many times as large a share of the time as outside the GPUs work in steps of little work
-- param: kernels_pct = 10 share of the time that iterations told by kernels cover at least, percent
-- param: all_pct = 75 share of the work in such iterations from which on any share of the time will do, percent
-- param: least_pct = 5 share of the time outside from which on it is left out, percent
-- param: outside_pct = 40 the same where kernels tell the steps, percent
-- column: told_by | text | | ranges or kernels
-- column: steps | count | | steps in it, of all processes
-- column: from_ns | ns | | begin, from the start of the capture
-- column: to_ns | ns | | end, from the start of the capture
-- column: before_ns | ns | | from the first operation of any GPU to the begin
-- column: after_ns | ns | | from the end to that of the last operation of any GPU
WITH named AS MATERIALIZED (SELECT start_ns, end_ns FROM finding_step
), told AS MATERIALIZED (
    SELECT number, start_ns, end_ns, ns, count(*) OVER () AS iterations
    FROM selected_step_time(CASE WHEN EXISTS (FROM named) THEN '' ELSE 'kernels' END)
), iteration AS MATERIALIZED (
    SELECT * FROM told
    CROSS JOIN (SELECT warmup_limit(median(ns), mad(ns)) AS usual_ns FROM told WHERE 3 * number > iterations)
), step AS MATERIALIZED (
    SELECT 'ranges' AS told_by, start_ns, end_ns FROM named
    UNION ALL
    SELECT 'kernels', start_ns, end_ns FROM iteration
    WHERE number >= (SELECT min(number) FROM iteration WHERE 3 * number > iterations OR ns <= usual_ns)
), part AS (
    SELECT any_value(told_by) AS told_by, count(*) AS steps, min(start_ns) AS low, max(end_ns) AS high FROM step
    HAVING count(*) >= $least_steps::BIGINT
), active AS (
    SELECT min(start_ns) AS first_ns, max(end_ns) AS last_ns FROM selected_active
), worked AS (
    SELECT sum(end_ns - start_ns) AS ns, sum(greatest(0, least(end_ns, high) - greatest(start_ns, low))) AS inside_ns
    FROM selected_busy CROSS JOIN part
)
SELECT told_by, steps, low - begun.start_ns AS from_ns, high - begun.start_ns AS to_ns,
    greatest(0, low - first_ns) AS before_ns, greatest(0, last_ns - high) AS after_ns
FROM part CROSS JOIN active CROSS JOIN worked CROSS JOIN capture_window AS begun
WHERE (
        inside_ns >= worked.ns * CASE told_by WHEN 'ranges' THEN 0.2 ELSE 0.5 END OR (
            told_by = 'ranges'
            AND inside_ns * (before_ns + after_ns) >= $denser::DOUBLE * (worked.ns - inside_ns) * (high - low)
        )
    )
    AND (
        told_by = 'ranges' OR 100.0 * (high - low) >= $kernels_pct::DOUBLE * (last_ns - first_ns)
        OR 100.0 * inside_ns >= $all_pct::DOUBLE * worked.ns
    )
    AND 100.0 * (before_ns + after_ns) >= (last_ns - first_ns)
        * CASE told_by WHEN 'ranges' THEN $least_pct::DOUBLE ELSE $outside_pct::DOUBLE END;
