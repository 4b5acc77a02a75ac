-- title: How much of the kernel time a Compute report explains
-- One row: the kernel time of the selection, and its share in kernels for which ncu measured a launch with the same
-- name, grid and block. time_weighted_roofline lists the kernels.
-- page: roofline_by_time
-- includes: pair
-- selects: part
-- joins: ncu
-- needs: kernel
-- needs: ncu_launch
-- param: ncu =  the Compute report: its id, an id prefix, or its file name; the linked one by default
-- column: total_ns | ns | | sum of all kernel durations of the selection
-- column: covered_ns | ns | | time of the kernels that ncu measured with the same grid and block
-- column: covered_pct | % | .2f | share of the total in these kernels
-- column: name_only_pct | % | .2f | share of the total in kernels that ncu measured with other grids or blocks only
-- column: kernels | count | | number of different kernels
-- column: covered_kernels | count | | kernels that ncu measured with at least one of their grids and blocks
-- column: ambiguous | count | | kernels that matched several ncu launches, see time_weighted_roofline
-- column: ambiguous_names | text | | names of the first three of them, most time first
WITH pair AS MATERIALIZED (
    FROM selected_pair('dram', 'main')
), vague AS (
    SELECT name FROM pair WHERE ambiguous IS NOT NULL ORDER BY place LIMIT 3
)
SELECT coalesce(sum(total_ns), 0)::BIGINT AS total_ns,
    coalesce(sum(total_ns) FILTER (match = 'exact'), 0)::BIGINT AS covered_ns,
    100.0 * covered_ns / nullif(sum(total_ns), 0) AS covered_pct,
    100.0 * coalesce(sum(total_ns) FILTER (match = 'name'), 0) / nullif(sum(total_ns), 0) AS name_only_pct,
    count(DISTINCT kernel) AS kernels, count(DISTINCT kernel) FILTER (match = 'exact') AS covered_kernels,
    count(ambiguous) AS ambiguous, (SELECT string_agg(name, ', ') FROM vague) AS ambiguous_names
FROM pair;
