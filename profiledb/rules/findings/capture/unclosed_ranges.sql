-- title: Ranges never closed
-- question: Did the program open ranges without closing them?
-- The number of ranges in the selection that the capture saw open but never close. They end with the data, as nsys
-- itself ends push/pop ranges with the session, so their times mean nothing, and steps among them do not count. One per
-- thread is normal if the capture ends inside a range. If nsys failed to process events, the ends of these ranges may
-- be among them (cause `lost`). Every event of a trace is complete and may end with it. NCCL's own ranges do not count:
-- the program cannot close them.
-- needs: range
-- includes: selection, finding
-- selects: part
-- unit: count
-- fires: above
-- weight: warning
-- param: threshold = 1 fires at or above this number of ranges
-- column: ranges | count | | ranges never closed
-- column: share_pct | % | .1f | share of the selection's ranges that were never closed
-- column: path | name | | path with the most of them
-- says: {ranges} {ranges|range was|ranges were} never closed ({share_pct} of all), {ranges|named|most of them} {path}. Ignore {ranges|its time|their times}.
-- clear: All ranges were closed.
-- advice: [lost] Capture again with another version of nsys: it failed to process events, and the ends of these ranges may be among them.
-- advice: [start] End every range that starts, on every path out of the code: each `nvtx.start_range` (`nvtxRangeStart`) needs an `end_range` (`nvtxRangeEnd`) with its id.
-- advice: [push, PyTorch] Close ranges on every path out of the code: `with torch.cuda.nvtx.range("name"):` or `nvtx.annotate`, not `range_push` without `range_pop`.
-- advice: [push, else, CuPy or Numba or JAX or TensorFlow] Close ranges on every path out of the code: `with nvtx.annotate("name"):`, not `push_range` without `pop_range`.
-- advice: [push, else] Close ranges on every path out of the code: `nvtx3::scoped_range`, not `nvtxRangePush` without `nvtxRangePop`.
-- advice: [not lost] End the capture between steps: `cudaProfilerStop` after the range is closed.
-- source: ours; nsys leaves such ranges without an end
SELECT 0 AS value, 0 AS ranges, 100.0 * 0 / nullif(count(*), 0) AS share_pct,
    CASE WHEN EXISTS (FROM diagnostic WHERE tells_lost_events(text)) THEN 'lost'
        ELSE 'push' END AS cause, NULL AS path, NULL AS evidence
FROM selected_range AS one JOIN range_path USING (path_id) CROSS JOIN report
HAVING count(*) FILTER (
    (NOT closed OR style = 'PushPop' AND kind <> 'torch' AND one.end_ns = duration_ns AND one.end_ns > one.start_ns)
    AND NOT starts_with(range_path.name, 'NCCL:')
) = 0;

WITH open AS (
    SELECT path, style, selected_range.start_ns, selected_range.end_ns
    FROM selected_range JOIN range_path USING (path_id) CROSS JOIN report
    WHERE NOT starts_with(range_path.name, 'NCCL:') AND (
            NOT closed OR style = 'PushPop' AND report.kind <> 'torch'
            AND selected_range.end_ns = report.duration_ns AND selected_range.end_ns > selected_range.start_ns
        )
), total AS (SELECT (SELECT count(*) FROM open) AS ranges, (SELECT count(*) FROM selected_range) AS every
), by_path AS (
    SELECT path, count(*) AS ranges, min(start_ns) AS start_ns, min_by(end_ns, start_ns) AS end_ns
    FROM open GROUP BY path
    ORDER BY ranges DESC, path LIMIT 10
), shown AS (
    SELECT {'name': path, 'count': ranges, 'start_ns': start_ns, 'end_ns': end_ns, 'range': path} AS piece FROM by_path
)
SELECT total.ranges AS value, total.ranges, 100.0 * total.ranges / nullif(total.every, 0) AS share_pct,
    (
        SELECT CASE WHEN EXISTS (FROM diagnostic WHERE tells_lost_events(text)) THEN 'lost'
            WHEN mode(style) = 'StartEnd' THEN 'start' ELSE 'push' END
        FROM open
    ) AS cause,
    (SELECT path FROM by_path ORDER BY ranges DESC, path LIMIT 1) AS path,
    (SELECT list(piece ORDER BY piece.count DESC, piece.name) FROM shown) AS evidence
FROM total;
