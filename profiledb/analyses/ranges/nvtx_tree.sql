-- title: Ranges as a tree
-- One row per path, a stack of range names, from the roots down in time order: CPU time of the path's ranges, and their
-- GPU work in the mode of the selection. A range includes the work of nested ranges, so a path and the paths below it
-- do not add up; self time does.
-- page: ranges
-- needs: range
-- includes: selection, ranges
-- selects: part, mode
-- param: path =  keeps this path, or all paths that end with this name
-- param: search =  keeps paths whose last name contains this text, ignoring case; not a pattern
-- param: depth =  maximum number of levels, from the outermost down
-- param: limit =  maximum number of paths: those with the most time on CPU or GPU, and the paths around them
-- column: path_id | id | | number of the path
-- column: parent_id | id | | enclosing path
-- column: level | count | | number of enclosing ranges
-- column: name = Range | text | | last name of the path
-- column: path | text | | all names, joined by slashes, as a selection accepts them
-- column: style | text | | PushPop, StartEnd, or both
-- column: instances | count | | number of ranges of this path
-- column: threads | count | | threads that opened it
-- column: first_ns | ns | | start of the first range, from the start of the capture
-- column: cpu_ns = CPU | ns | | time between start and end on the CPU
-- column: self_ns | ns | | CPU time outside nested ranges
-- column: gpu_ns = GPU | ns | | from its first GPU operation to the end of its last, summed over its instances
-- column: busy_ns = GPU busy | ns | | time in which its operations ran on the GPU; overlapping operations of a range count once
-- column: kernel_ns = Kernels | ns | | sum of the durations of their kernels
-- column: operations | count | | kernels, memcpy, memset and whole CUDA graphs; empty if the report has none in ranges
-- column: launched_in | count | | ranges of this path that launched work
-- column: warmup | bool | | whether it, or a range around it, looks like warm-up
-- column: children | count | | number of paths directly inside it, shown or not
-- column: inside_gpu_ns | ns | | sum of gpu_ns of these
-- column: inside_busy_ns | ns | | sum of busy_ns of these
-- column: paths | count | | number of matching paths, shown or not
WITH RECURSIVE instance AS MATERIALIZED (
    FROM selected_timed_range(selected_mode())
), inside AS (
    SELECT parent_id AS range_id, sum(cpu_ns) AS inside_ns FROM instance WHERE parent_id IS NOT NULL GROUP BY parent_id
), total AS (
    SELECT path_id, count(*) AS instances, count(DISTINCT global_tid) AS threads, min(start_ns) AS low,
        CASE WHEN min(style) = max(style) THEN min(style) ELSE 'both' END AS style, sum(cpu_ns)::BIGINT AS cpu_ns,
        sum(cpu_ns - coalesce(inside_ns, 0))::BIGINT AS self_ns, sum(gpu_ns)::BIGINT AS gpu_ns,
        sum(busy_ns)::BIGINT AS busy_ns, sum(kernel_ns)::BIGINT AS kernel_ns, sum(operations)::BIGINT AS operations,
        count(gpu_ns) AS launched_in
    FROM instance LEFT JOIN inside USING (range_id) GROUP BY path_id
), family AS MATERIALIZED (
    SELECT total.*, range_path.parent_id, level, name, path FROM total JOIN range_path USING (path_id)
), below AS (
    SELECT parent_id AS path_id, count(*) AS children, sum(gpu_ns)::BIGINT AS inside_gpu_ns,
        sum(busy_ns)::BIGINT AS inside_busy_ns
    FROM family WHERE parent_id IS NOT NULL GROUP BY parent_id
), fit AS (
    FROM family
    WHERE ($path::VARCHAR IS NULL OR path = $path::VARCHAR
            OR name = $path::VARCHAR AND NOT EXISTS (FROM range_path WHERE path = $path::VARCHAR))
        AND ($search::VARCHAR IS NULL OR contains(lower(name), lower($search::VARCHAR)))
        AND ($depth::INTEGER IS NULL OR level < $depth::INTEGER + (SELECT min(level) FROM family))
), shown AS MATERIALIZED (
    SELECT *, (SELECT count(*) FROM fit) AS paths FROM fit
    ORDER BY greatest(cpu_ns, coalesce(gpu_ns, 0)) DESC, level, path_id LIMIT $limit::BIGINT
), node AS (
    SELECT path_id, parent_id, low, row_number() OVER (PARTITION BY parent_id ORDER BY low, path_id) AS place FROM shown
), tree AS (
    SELECT path_id, [low, path_id] AS places FROM node
    WHERE NOT EXISTS (FROM node AS up WHERE up.path_id = node.parent_id)
    UNION ALL
    SELECT node.path_id, list_append(places, node.place) FROM tree JOIN node ON node.parent_id = tree.path_id
)
SELECT path_id, parent_id, level, name, path, style, instances, threads, low - capture_window.start_ns AS first_ns,
    cpu_ns, self_ns, gpu_ns, busy_ns, kernel_ns, operations, launched_in, is_warmup(path) AS warmup,
    coalesce(children, 0) AS children, inside_gpu_ns, inside_busy_ns, paths
FROM tree JOIN shown USING (path_id) LEFT JOIN below USING (path_id) CROSS JOIN capture_window
ORDER BY places;
