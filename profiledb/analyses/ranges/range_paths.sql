-- title: Paths of ranges
-- Paths for a selection, over the whole report: one row per path with its number of selectable instances. `nvtx_tree`
-- has the same paths with their times.
-- page: ranges
-- needs: range
-- includes: selection
-- column: path | text | | all names, joined by slashes, as a selection accepts them
-- column: name | text | | last name of the path
-- column: instances | count | | number of ranges of this path
-- column: most | count | | ranges of this path on the thread with the most of them: instances count per thread
-- column: is_warmup | bool | | whether its name looks like warm-up
SELECT path, name, sum(num)::BIGINT AS instances, max(num) AS most, is_warmup(name) AS is_warmup
FROM (SELECT path_id, global_tid, count(*) AS num FROM range GROUP BY path_id, global_tid)
JOIN range_path USING (path_id)
GROUP BY path_id, path, name
ORDER BY path_id;
