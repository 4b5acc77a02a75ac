-- title: Steady part
-- The repeating part of a program: from the start of the first step that counts to the end of the last one, over all
-- processes (`iterations` defines the steps that count, without warm-up). Without steps from ranges, it is the part
-- that kernel iterations cover (`detected_iterations`). Findings judge only this part: one-time work does not belong to
-- the steps. There is none, and no row, with fewer than `least_steps` steps, or if less than `least_pct` of the time
-- lies outside; nor if the GPUs do less than a fifth of their work in it, unless their working share of its time is
-- `denser` times that outside: start-up may hold more work than a few steps. Kernel iterations are a guess: they must
-- hold half of the work, cover `kernels_pct` of the time and leave `outside_pct`, or only `same_pct` if all run as many
-- kernels. If they hold `all_pct` of the work, they may cover less of the time: start-up is long, and nothing else runs
-- on the GPU. The last one has no known end, so one less is enough, but only if no more than an iteration's time
-- follows. Leading iterations, within the first third, that take longer than the others are warm-up.
-- needs: kernel or memop or graph_launch
-- includes: selection, waiting
-- selects: part
-- once: finding_steps, unnamed_iterations, busy
-- param: least_steps = 4 fewest steps of a steady part; of kernel iterations one less if the capture ends with them
-- param: denser = 5 factor between the GPUs' working share inside and outside, for steps with little work
-- param: kernels_pct = 10 smallest share of the time that kernel iterations must cover, percent
-- param: all_pct = 75 share of the work in kernel iterations above which they may cover any share of the time, percent
-- param: least_pct = 5 smallest share of the time outside for which it is excluded, percent
-- param: outside_pct = 40 the same for steps from kernels, percent
-- param: same_pct = 20 the same for steps from kernels that all run as many, percent
-- column: told_by | text | | ranges or kernels
-- column: steps | count | | steps in it, of the process with most
-- column: from_ns | ns | | start, from the start of the capture
-- column: to_ns | ns | | end, from the start of the capture
-- column: before_ns | ns | | time from the first operation of any GPU to the start
-- column: after_ns | ns | | time from the end to that of the last operation of any GPU
WITH named AS MATERIALIZED (SELECT pid, start_ns, end_ns FROM finding_step
), counted AS MATERIALIZED (
    SELECT *, count(*) OVER () AS iterations FROM unnamed_iteration
), iteration AS MATERIALIZED (
    SELECT * FROM counted
    CROSS JOIN (SELECT warmup_limit(median(ns), mad(ns)) AS usual_ns FROM counted WHERE 3 * number > iterations)
), step AS MATERIALIZED (
    SELECT 'ranges' AS told_by, pid, start_ns, end_ns FROM named
    UNION ALL
    SELECT 'kernels', NULL, start_ns, end_ns FROM iteration
    WHERE number >= (SELECT min(number) FROM iteration WHERE 3 * number > iterations OR ns <= usual_ns)
), part AS (
    SELECT any_value(told_by) AS told_by, max(steps) AS steps, min(low) AS low, max(high) AS high
    FROM (SELECT any_value(told_by) AS told_by, count(*) AS steps, min(start_ns) AS low, max(end_ns) AS high FROM step
        GROUP BY pid)
    HAVING sum(steps) >= $least_steps::BIGINT - CASE any_value(told_by) WHEN 'kernels' THEN 1 ELSE 0 END
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
    AND (steps >= $least_steps::BIGINT OR after_ns * steps <= high - low)
    AND 100.0 * (before_ns + after_ns) >= (last_ns - first_ns)
        * CASE WHEN told_by = 'ranges' THEN $least_pct::DOUBLE
            WHEN (SELECT max(kernels_cv_pct) FROM counted) = 0 THEN $same_pct::DOUBLE
            ELSE $outside_pct::DOUBLE
        END;
