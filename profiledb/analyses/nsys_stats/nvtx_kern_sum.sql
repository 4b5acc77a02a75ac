-- title: NVTX range kernel summary
-- Kernels by the ranges around their calls, as `nsys stats -r nvtx_kern_sum` prints them (`by=short` is its option
-- `base`). A kernel counts in every range around its call, and twice in nested ranges of the same name. Kernels outside
-- ranges have an empty name. The mode `process` adds launches of threads that the range's thread drives; nsys does not.
-- Newer nsys prints a colon before names of the default domain; this follows the exporting version. A kernel whose
-- correlation id two calls of its process share counts once, for the first of them.
-- includes: selection, nsys, energy
-- selects: part, mode
-- param: by = demangled (demangled, short, mangled) kernel name to group by
-- needs: range
-- needs: kernel
-- needs: api_call
-- column: NVTX Range | text | | domain:name, or the name alone
-- column: Style | text | | PushPop or StartEnd
-- column: PID | id | | process id
-- column: TID | id | | thread of the calls
-- column: NVTX Inst | count | | ranges of the name that launched the kernel
-- column: Kern Inst | count | | launches of the kernel
-- column: Total Time (ns) | ns | | sum of their durations
-- column: Avg (ns) | ns | .1f | mean duration
-- column: Med (ns) | ns | .1f | median duration
-- column: Min (ns) | ns | | shortest duration
-- column: Max (ns) | ns | | longest duration
-- column: StdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: Kernel Name | text | | name of the kernel
WITH RECURSIVE names AS (
    FROM kernel_names($by)
), range_key AS (
    SELECT name_id, name, min(name_id) OVER (PARTITION BY name) AS range_key FROM nsys_range_name
), launched AS (
    SELECT kernel_id, range_by_mode(thread_range, process_range) AS pre, call_id, name_key,
        kernel.end_ns - kernel.start_ns AS ns
    FROM selected_kernel AS kernel JOIN names USING (name_id)
), further AS (  -- if ranges cross
    SELECT kernel_id, range_by_mode(one.thread_range, one.process_range) AS pre, call_id, name_key, ns
    FROM call_range AS one JOIN launched USING (call_id)
), held AS (
    FROM launched UNION ALL FROM further WHERE pre IS NOT NULL
), holder AS (
    SELECT pre AS innermost, pre, outer_pre FROM range WHERE pre IN (SELECT pre FROM held)
    UNION ALL
    SELECT innermost, range.pre, range.outer_pre FROM holder JOIN range ON range.pre = holder.outer_pre
    WHERE range.pre < holder.pre
), named AS (
    SELECT innermost, range_id, range_key, style, global_tid AS range_tid
    FROM holder JOIN selected_range AS range USING (pre) JOIN range_key USING (name_id)
), summary AS (
    SELECT range_key, style, call.global_tid, name_key, count(DISTINCT range_id) AS ranges,
        count(DISTINCT kernel_id) AS kernels, sum(ns)::BIGINT AS total, avg(ns) AS mean, median(ns) AS med,
        min(ns) AS low, max(ns) AS high, deviation(ns) AS dev
    FROM held LEFT JOIN named ON innermost = pre LEFT JOIN api_call AS call USING (call_id)
    GROUP BY range_key, style, call.global_tid, name_key
)
SELECT range_name.name AS "NVTX Range", style AS "Style", pid_of(global_tid) AS "PID",
    tid_of(global_tid) AS "TID", ranges AS "NVTX Inst", kernels AS "Kern Inst", total AS "Total Time (ns)",
    nsys_round(mean) AS "Avg (ns)", nsys_round(med) AS "Med (ns)", low AS "Min (ns)", high AS "Max (ns)",
    nsys_round(dev) AS "StdDev (ns)", names.name AS "Kernel Name"
FROM summary JOIN names ON names.name_id = summary.name_key
LEFT JOIN range_key AS range_name ON range_name.name_id = summary.range_key
ORDER BY "NVTX Range" NULLS FIRST, "PID" NULLS FIRST, "TID" NULLS FIRST, total DESC, style NULLS FIRST, "Kernel Name";
