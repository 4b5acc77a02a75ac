-- title: What limits each kernel
-- One row per kernel of the selection, most time first, with the verdict of the launches that the linked Compute report
-- measured of it, of the same grid and block alone: the verdict on most of its measured time, and the numbers of the
-- launch behind it. Kernels that were not measured, and all of them where no Compute report is linked, have the command
-- that measures them.
-- page: kernels
-- prefetch: part
-- includes: selection, pair
-- selects: part
-- joins: ncu
-- needs: kernel
-- once: names
-- param: kernel =  number of the kernel (analysis kernels), or its full name
-- param: ncu =  the Compute report: its id, the beginning of it, or its file name; the linked one unless given
-- column: kernel | text | | number of the kernel in this report, as in the analysis kernels
-- column: name = Kernel | text | | readable name: without templates and arguments
-- column: verdict | text | | memory bound, compute bound, latency bound or not measured
-- column: verdict_pct = Of its peak | % | .1f | the number that proves it: throughput of compute or memory, whichever limits it; for latency bound the busier one, below 60 %
-- column: reason = Why | text | | the numbers behind the verdict, or why there is none
-- column: others | text | | verdicts on other launch shapes of this kernel, where they differ
-- column: measured_pct | % | .1f | share of the time of the kernel in launch shapes that were measured
-- column: launch_id | id | | the launch behind the verdict in the Compute report
-- column: command = To measure it | text | | the command that measures this kernel; PROGRAM stands for a program that is not known
WITH key AS (
    SELECT kernel, any_value(short) AS short, any_value(mangled) AS mangled,
        count(*) OVER (PARTITION BY any_value(short)) > 1 AS is_shared
    FROM kernel_key GROUP BY kernel
), whole AS (
    SELECT kernel, sum(ns)::BIGINT AS total_ns
    FROM (SELECT name_id, sum(end_ns - start_ns) AS ns FROM selected_kernel GROUP BY name_id)
    JOIN kernel_key USING (name_id) GROUP BY kernel
)
SELECT kernel, readable AS name, 'not measured' AS verdict, NULL::DOUBLE AS verdict_pct,
    'no linked Compute report has it' AS reason, NULL::VARCHAR AS others,
    100.0 * 0 / nullif(total_ns, 0) AS measured_pct, NULL::INTEGER AS launch_id,
    ncu_command(key.short, IF(is_shared, key.mangled, NULL)) AS command
FROM whole JOIN key USING (kernel) JOIN (SELECT name_id AS kernel, readable FROM kernel_key) USING (kernel)
WHERE NOT EXISTS (FROM ncu_launch) AND ($kernel::VARCHAR IS NULL OR kernel IN (FROM kernel_ids($kernel)))
ORDER BY total_ns DESC, kernel;

WITH key AS (
    SELECT kernel, any_value(short) AS short, any_value(mangled) AS mangled,
        count(*) OVER (PARTITION BY any_value(short)) > 1 AS is_shared
    FROM kernel_key GROUP BY kernel
), shape AS MATERIALIZED (
    SELECT kernel, name, place, total_ns, match, verdict, launch_id,
        verdict_pct, verdict_reason
    FROM selected_pair(NULL, 'main')  -- no points of a roofline: planning them takes 35 ms
    WHERE $kernel::VARCHAR IS NULL OR kernel IN (FROM kernel_ids($kernel))
), judged AS (
    SELECT kernel, verdict, sum(total_ns) AS total_ns, arg_min(launch_id, place) AS launch_id,
        arg_min(verdict_pct, place) AS verdict_pct, arg_min(verdict_reason, place) AS reason
    FROM shape WHERE match = 'exact' AND verdict <> 'not measured' GROUP BY kernel, verdict
    QUALIFY row_number() OVER (PARTITION BY kernel ORDER BY sum(total_ns) DESC, verdict) = 1
), whole AS (
    SELECT kernel, any_value(name) AS name, sum(total_ns) AS total_ns,
        coalesce(sum(total_ns) FILTER (match = 'exact' AND verdict <> 'not measured'), 0) AS measured_ns,
        list_sort(list(DISTINCT verdict) FILTER (match = 'exact' AND verdict <> 'not measured')) AS verdicts,
        bool_or(match = 'exact') AS has_exact, bool_or(match = 'name') AS has_other
    FROM shape GROUP BY kernel
)
SELECT kernel, name, coalesce(verdict, 'not measured') AS verdict, verdict_pct,
    coalesce(reason, CASE WHEN has_exact THEN 'the Compute report has no speed of light of it'
        WHEN has_other THEN 'the Compute report has it in other launch shapes'
        ELSE 'no linked Compute report has it' END) AS reason,
    nullif(array_to_string(list_filter(verdicts, one -> one <> verdict), ', '), '') AS others,
    100.0 * measured_ns / nullif(whole.total_ns, 0) AS measured_pct, launch_id,
    CASE WHEN verdict IS NULL THEN ncu_command(short, IF(is_shared, mangled, NULL)) END AS command
FROM whole JOIN key USING (kernel) LEFT JOIN judged USING (kernel)
ORDER BY whole.total_ns DESC, kernel;
