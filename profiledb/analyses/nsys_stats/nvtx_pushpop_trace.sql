-- title: NVTX push/pop range trace
-- Push/pop ranges in order of start, with the push/pop ranges around each, as `nsys stats -r nvtx_pushpop_trace` prints
-- them. Newer nsys prints a colon before names of the default domain; this follows the exporting version. Of two ranges
-- with equal bounds the first encloses the second; nsys makes each the parent of the other and leaves both out. Ranges
-- that end before they start are left out, unlike in nsys.
-- needs: range
-- includes: selection, nsys
-- selects: part
-- column: Start (ns) | ns | | start
-- column: End (ns) | ns | | end
-- column: Duration (ns) | ns | | duration
-- column: DurChild (ns) | ns | | sum of the durations of directly nested ranges
-- column: DurNonChild (ns) | ns | | rest of the duration
-- column: Name | text | | domain:name, or the name alone
-- column: PID | id | | process id
-- column: TID | id | | thread
-- column: Lvl | count | | number of enclosing ranges
-- column: NumChild | count | | number of directly nested ranges
-- column: RangeId | id | | row of the range in the export
-- column: ParentId | id | | enclosing range
-- column: RangeStack | text | | numbers of the enclosing ranges, and its own
-- column: NameTree | text | | two dashes per level, and the name; empty if it has none
WITH RECURSIVE crossing AS (
    -- threads on which the tightest range around another may differ from the one that nests with it
    SELECT DISTINCT one.global_tid FROM range AS one LEFT JOIN range AS around ON around.pre = one.outer_pre
    WHERE one.parent_id IS DISTINCT FROM around.range_id AND one.end_ns > one.start_ns AND one.end_global_tid IS NULL
), climb AS (  -- skips start/end ranges between a range and the push/pop range around it
    SELECT range_id, parent_id AS up FROM range ANTI JOIN crossing USING (global_tid) WHERE style = 'PushPop'
    UNION ALL
    SELECT climb.range_id, range.parent_id FROM climb JOIN range ON range.range_id = up WHERE style <> 'PushPop'
), tightest AS (
    SELECT climb.range_id, up AS around FROM climb JOIN range ON range.range_id = up WHERE style = 'PushPop'
    UNION ALL
    SELECT one.range_id, arg_min(up.range_id, (up.end_ns - up.start_ns, up.range_id))
    FROM range AS one SEMI JOIN crossing USING (global_tid)
    JOIN range AS up ON up.global_tid = one.global_tid AND up.start_ns <= one.start_ns AND up.end_ns >= one.end_ns
        AND (up.end_ns - up.start_ns > one.end_ns - one.start_ns OR up.range_id < one.range_id)
    WHERE one.style = 'PushPop' AND up.style = 'PushPop' GROUP BY one.range_id
), pushed AS (
    SELECT range.*, CASE WHEN text = '' AND NOT is_recent THEN '' ELSE nsys_range_name.name END AS name,
        around
    FROM range JOIN nsys_range_name USING (name_id) JOIN range_name USING (name_id) LEFT JOIN tightest USING (range_id)
    CROSS JOIN export_version WHERE style = 'PushPop'
), tree AS (
    SELECT range_id, 0 AS level, ':' || range_id AS stack FROM pushed WHERE around IS NULL
    UNION ALL
    SELECT pushed.range_id, tree.level + 1, stack || ':' || pushed.range_id
    FROM tree JOIN pushed ON pushed.around = tree.range_id
), child AS (
    SELECT around AS range_id, sum(end_ns - start_ns)::BIGINT AS ns, count(*) AS children FROM pushed GROUP BY around
)
SELECT start_ns AS "Start (ns)", end_ns AS "End (ns)", end_ns - start_ns AS "Duration (ns)",
    coalesce(ns, 0) AS "DurChild (ns)", end_ns - start_ns - coalesce(ns, 0) AS "DurNonChild (ns)", name AS "Name",
    pid_of(global_tid) AS "PID", tid_of(global_tid) AS "TID", tree.level AS "Lvl",
    coalesce(children, 0) AS "NumChild", range_id AS "RangeId", around AS "ParentId", stack AS "RangeStack",
    CASE WHEN name <> '' THEN repeat('--', tree.level) || name ELSE '' END AS "NameTree"
FROM pushed JOIN tree USING (range_id) LEFT JOIN child USING (range_id)
WHERE pre IN (SELECT pre FROM selected_range)
ORDER BY start_ns, "Duration (ns)", range_id;
