-- title: Paths of ranges
-- What a selection can name, of the whole report: one row per path with how many instances of it there are to pick
-- from. `nvtx_tree` has the same paths with their times.
-- page: ranges
-- needs: range
-- includes: selection
-- column: path | text | | all names, joined by slashes, as a selection takes them
-- column: name | text | | last name of the path
-- column: instances | count | | ranges of this path
-- column: most | count | | ranges of this path on the thread that has the most of them: instances count by thread
-- column: is_warmup | bool | | whether its name looks like a warm-up
SELECT path, name, sum(num)::BIGINT AS instances, max(num) AS most, is_warmup(name) AS is_warmup
FROM (SELECT path_id, global_tid, count(*) AS num FROM range GROUP BY path_id, global_tid)
JOIN range_path USING (path_id)
GROUP BY path_id, path, name
ORDER BY path_id;
