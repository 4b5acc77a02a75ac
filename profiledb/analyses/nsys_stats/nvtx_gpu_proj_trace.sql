-- title: NVTX GPU projection trace
-- Ranges that launched work, each from the start of its first operation on the GPU to the end of its last one, as `nsys
-- stats -r nvtx_gpu_proj_trace` prints them, in the order of the export. The mode `process` adds launches of threads
-- that the range's thread drives; nsys does not. As in the exporting nsys, newer versions print a colon before names of
-- the default domain, and 2023.4 a row without a name for work outside ranges; its process and thread are those of the
-- operation that ends last. Of two ranges with equal bounds the first encloses the second; nsys makes each the parent
-- of the other and prints neither level nor stack. If two ranges are equally tight, the parent may differ from nsys.
-- CUDA graphs traced as a whole count as work; nsys leaves them out. A call counts once even if two ranges of its
-- thread share its correlation id.
-- needs: range
-- needs: api_call
-- needs: kernel or memop
-- includes: selection, nsys
-- selects: part, mode
-- column: Name | text | | domain:name, or the name alone
-- column: Projected Start (ns) | ns | | start of the first operation
-- column: Projected Duration (ns) | ns | | time to the end of the last operation, gaps included
-- column: Orig Start (ns) | ns | | start of the range on the CPU
-- column: Orig Duration (ns) | ns | | duration of the range on the CPU
-- column: Style | text | | PushPop or StartEnd
-- column: PID | id | | process id
-- column: TID | id | | thread
-- column: NumGPUOps | count | | calls that launched work; a CUDA graph counts once
-- column: Lvl | count | | number of enclosing ranges
-- column: NumChild | count | | number of directly nested ranges that launched work
-- column: RangeId | id | | row of the range in the export
-- column: ParentId | id | | enclosing range
-- column: RangeStack | text | | numbers of the enclosing ranges, and its own
WITH RECURSIVE projected AS (
    SELECT range.*, projection.start_ns AS low, projection.end_ns - projection.start_ns AS length, launches
    FROM projection JOIN selected_range AS range USING (range_id) WHERE mode = selected_mode()
), stack AS (
    SELECT range_id, ':' || range_id AS stack FROM range WHERE parent_id IS NULL AND end_global_tid IS NULL
    UNION ALL
    SELECT range.range_id, stack.stack || ':' || range.range_id FROM stack
    JOIN range ON range.parent_id = stack.range_id
), child AS (
    SELECT parent_id AS range_id, count(*) AS children FROM projected GROUP BY parent_id
), loose AS (  -- outside ranges, but launched by a call
    SELECT min(one.start_ns) AS low, max(one.end_ns) - min(one.start_ns) AS length,
        count(DISTINCT one.correlation_id) AS launches, arg_max(global_tid, one.end_ns) AS tid
    FROM (
        SELECT start_ns, end_ns, correlation_id, call_id, thread_range, process_range FROM selected_kernel
        UNION ALL SELECT start_ns, end_ns, correlation_id, call_id, thread_range, process_range FROM selected_memop
    ) AS one JOIN api_call USING (call_id), export_version
    WHERE range_by_mode(one.thread_range, one.process_range) IS NULL AND NOT is_recent
    HAVING count(*) > 0
), line AS (
    SELECT name, low, length, start_ns, end_ns - start_ns AS duration, style, pid_of(global_tid) AS pid,
        tid_of(global_tid) AS tid, launches, level, coalesce(children, 0) AS children, range_id, parent_id, stack
    FROM projected JOIN nsys_range_name USING (name_id) LEFT JOIN child USING (range_id)
    LEFT JOIN stack USING (range_id)
    UNION ALL BY NAME
    SELECT low, length, launches, 0 AS children, pid_of(tid) AS pid, tid_of(tid) AS tid FROM loose
)
SELECT name AS "Name", low AS "Projected Start (ns)", length AS "Projected Duration (ns)",
    start_ns AS "Orig Start (ns)",
    duration AS "Orig Duration (ns)", style AS "Style", pid AS "PID", tid AS "TID", launches AS "NumGPUOps",
    level AS "Lvl", children AS "NumChild", range_id AS "RangeId", parent_id AS "ParentId", stack AS "RangeStack"
FROM line
-- nsys 2023.4 means to order by start, but by mistake uses this order
ORDER BY range_id NULLS FIRST;
