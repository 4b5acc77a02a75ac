-- title: CPU samples as a tree of calls
-- Call chains of the CPU samples, outermost function first, one row per distinct path with the thread on top, as in a
-- flame graph. The rows with the most samples are returned, each with its ancestors. A path ends after 96 functions;
-- deeper samples count for its last one. Rows as in `cpu_functions`.
-- page: host
-- prefetch: part
-- prefetch: part source=python of python_sample
-- needs: cpu_sample or python_sample
-- includes: host
-- selects: part
-- param: source = cpu (cpu, python) samples of the CPU, or of the threads' Python stacks
-- param: moments = all (all, idle) all samples, or only those taken while no GPU was busy, between its operations
-- param: thread =  process and thread id in the form of `host_threads`; empty: all threads
-- param: limit = 600 at most this many rows
-- column: node_id | id | | number of the row
-- column: parent_id | id | | row of the calling function; empty for a thread
-- column: level | count | | number of enclosing functions; 0 for a thread
-- column: function | text | | function, or process and thread id with the name of the thread
-- column: module | text | | file of the function
-- column: samples | count | | samples in this function on this path, callees included
-- column: self_samples = Self | count | | part of these samples in the function itself
-- column: share_pct | % | .1f | share of all samples
WITH asked AS MATERIALIZED (FROM selected_sample($source, $moments, $thread)
), chain AS (  -- one row per sample, even if its chain repeats
    SELECT number, any_value(global_tid) AS tid,
        list({function: function, module: coalesce(module, '')} ORDER BY depth DESC, function, module)
            FILTER (function IS NOT NULL) AS frames
    FROM asked LEFT JOIN host_frame($source) ON callchain_id = sample_id GROUP BY number
), alike AS (
    SELECT list_prepend(
        {function: concat_ws(' ', thread_label(tid), name), module: ''},
        coalesce(frames, [{function: '[no symbol]', module: ''}])[1:96]
    ) AS way, count(*) AS samples
    FROM chain LEFT JOIN host_thread ON global_tid = tid GROUP BY way
), part AS (
    SELECT way[1:deep] AS way, deep, sum(samples)::BIGINT AS samples,
        coalesce(sum(samples) FILTER (deep = length), 0)::BIGINT AS self_samples
    FROM (SELECT way, len(way) AS length, samples, unnest(range(1, len(way) + 1)) AS deep FROM alike)
    GROUP BY ALL
), node AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY samples DESC, deep, way) AS node_id, * FROM part
    QUALIFY node_id <= $limit::BIGINT
)
SELECT node.node_id, up.node_id AS parent_id, node.deep - 1 AS level, node.way[-1].function AS function,
    nullif(node.way[-1].module, '') AS module, node.samples, node.self_samples,
    100.0 * node.samples / (SELECT count(*) FROM asked) AS share_pct
FROM node LEFT JOIN node AS up ON up.deep = node.deep - 1 AND up.way = node.way[1:-2]
ORDER BY node.node_id;
