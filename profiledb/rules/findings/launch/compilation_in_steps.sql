-- title: Compilation in steps
-- question: Does the program keep compiling or loading kernels after it has warmed up?
-- The share of each GPU's active span (first to last operation) that it is idle in steps that load kernel modules,
-- above the median of the steps that load none, if any. Compilers at run time (torch.compile, Triton, NVRTC, JAX) load
-- a module for each new kernel. Idle time counts while the launching thread runs code of its own, is in an OS call, or
-- loads. At least `steps` of the steps that count must load a module, or two with a step between them that loads none:
-- a single load belongs to the start. Compilers cache on disk, so another run may take less.
-- needs: range
-- needs: api_call
-- includes: finding, idle, waiting, memory
-- selects: part
-- once: span, functions, idle, finding_steps
-- parts: host code, OS runtime call, module loading
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: steps = 3 fewest steps that must load modules if they follow each other
-- column: loading | count | | steps that load modules
-- column: steps | count | | steps that count
-- column: modules | count | | modules that these steps load
-- column: idle_ns | ns | | idle time of these steps above that of the others
-- says: {loading} {loading|step loads|steps load} new kernels ({modules} {modules|module|modules}): the GPU waits {idle_ns} ({value} of the time) while code compiles or loads.
-- clear: The GPU waits {value} of the time in steps that load new kernels.
-- advice: -> compile_once
-- source: ours; PyTorch's recompilation guide. Pair on H100: a function compiled for 17 sizes in 20 steps
SELECT NULL AS value, 'The selection has fewer than 4 steps.' AS unjudged, 0 AS saving_ns, 0 AS idle_ns, 0 AS loading,
    0 AS steps, NULL AS modules, NULL AS evidence
FROM finding_step HAVING count(*) = 0;

WITH step AS MATERIALIZED (FROM finding_step
), loaded AS MATERIALIZED (
    SELECT pid_of(global_tid) AS pid, start_ns AS t FROM api_call JOIN api_function USING (name_id)
    WHERE category = 'module loading' AND function NOT LIKE '%Unload%' AND function NOT LIKE '%Mode'
), held AS (
    SELECT step.pid, number, count(*) AS modules
    FROM loaded ASOF JOIN step ON loaded.pid = step.pid AND loaded.t >= step.start_ns
    WHERE loaded.t < step.end_ns GROUP BY step.pid, number
), idle AS (
    SELECT step.pid, number, piece.ns FROM (
        SELECT pid_of(tid) AS pid, s, ns FROM selected_idle(2000, NULL)
        WHERE tid IS NOT NULL AND reason IN ('host code', 'OS runtime call', 'module loading')
    ) AS piece ASOF JOIN step ON piece.pid = step.pid AND piece.s >= step.start_ns
    WHERE piece.s < step.end_ns
), timed_step AS MATERIALIZED (
    SELECT step.number, path, start_ns, end_ns, coalesce(modules, 0) AS modules, coalesce(idle.ns, 0)::BIGINT AS idle_ns
    FROM step LEFT JOIN held USING (pid, number)
    LEFT JOIN (SELECT pid, number, sum(ns) AS ns FROM idle GROUP BY pid, number) AS idle USING (pid, number)
), usual AS (
    SELECT count(*) AS steps, count(*) FILTER (modules > 0) AS loading, sum(modules)::BIGINT AS modules,
        coalesce(median(idle_ns) FILTER (modules = 0), 0) AS idle_ns,
        count(*) FILTER (modules > 0 AND after > 0) AS apart
    FROM (
        SELECT *, count_if(modules > 0) OVER (
                ORDER BY start_ns, number ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING
            ) * (lag(modules) OVER (ORDER BY start_ns, number) = 0)::INTEGER AS after
        FROM timed_step
    )
), slow AS MATERIALIZED (
    SELECT path, start_ns, end_ns, timed_step.modules, greatest(0, timed_step.idle_ns - usual.idle_ns)::BIGINT AS ns
    FROM timed_step CROSS JOIN usual WHERE timed_step.modules > 0 AND (loading >= $steps::BIGINT OR apart > 0)
), total AS (SELECT coalesce(sum(ns), 0)::BIGINT AS ns FROM slow
), shown AS (
    SELECT ns, start_ns, {
            'name': path, 'ns': ns, 'count': modules, 'start_ns': start_ns, 'end_ns': end_ns, 'range': path
        } AS piece
    FROM slow ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN steps >= 4 THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN steps < 4 THEN 'The selection has fewer than 4 steps.' END AS unjudged,
    total.ns AS saving_ns, total.ns AS idle_ns, loading, steps, modules,
    (SELECT list(piece ORDER BY ns DESC, start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN usual;
