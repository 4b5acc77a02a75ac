-- title: Kernels
-- One row per kernel, longest total first. Shares refer to the sum of all kernel durations of the selection, regardless
-- of the filter. Full names that differ only in their mangled form are one kernel.
-- page: kernels
-- show: name 300, share_pct bar 110, total_ns, class 184, calls, avg_ns, median_ns, min_ns, max_ns, stddev_ns
-- show: grid 110, block 100, registers
-- prefetch: part limit=1
-- prefetch: part
-- prefetch: steady limit=1
-- prefetch: steady
-- needs: kernel
-- includes: selection, nsys
-- selects: part
-- once: names
-- param: search =  keeps kernels whose full name contains this text, ignoring case; not a pattern
-- param: class =  keeps kernels of this class
-- param: limit =  at most this many rows
-- column: kernel | text | | number of the kernel in this report, as kernel_summary and similar analyses accept it
-- column: name = Kernel | text | | readable name without templates and arguments
-- column: class | class | | kernel class
-- column: total_ns | ns | | sum of durations
-- column: share_pct | % | .2f | share of the sum of all kernel durations of the selection
-- column: calls = Launches | count | | number of launches
-- column: avg_ns = Average | ns | .1f | mean duration
-- column: median_ns | ns | .1f | median launch duration
-- column: min_ns | ns | | shortest launch
-- column: max_ns | ns | | longest launch
-- column: stddev_ns = Std dev | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: grid | text | | blocks in x, y and z, or the number of different grids
-- column: block | text | | threads per block in x, y and z, or the number of different blocks
-- column: shapes | count | | different launch shapes: grid, block, registers and shared memory
-- column: registers | count | | registers per thread, maximum over all launches
-- column: demangled | text | | full name with template arguments
WITH total AS (
    SELECT name_id, sum(end_ns - start_ns) AS total_ns FROM selected_kernel AS kernel GROUP BY name_id
), matched AS (
    SELECT name_id, kernel, sum(sum(total_ns)) OVER () AS whole_ns, any_value(demangled) AS demangled,
        any_value(readable) AS name, any_value(class) AS class
    FROM total JOIN kernel_key USING (name_id) GROUP BY name_id, kernel
    QUALIFY ($search::VARCHAR IS NULL OR contains(lower(any_value(demangled)), lower($search::VARCHAR)))
        AND ($class::VARCHAR IS NULL OR any_value(class) = $class::VARCHAR)
), duration AS (
    SELECT kernel, any_value(demangled) AS demangled, any_value(name) AS name, any_value(class) AS class,
        sum(end_ns - start_ns)::BIGINT AS total_ns, any_value(whole_ns) AS whole_ns, count(*) AS calls,
        avg(end_ns - start_ns) AS avg_ns, median(end_ns - start_ns) AS median_ns, min(end_ns - start_ns) AS min_ns,
        max(end_ns - start_ns) AS max_ns, deviation(end_ns - start_ns) AS stddev_ns
    FROM selected_kernel AS kernel JOIN matched USING (name_id) GROUP BY kernel
), shape AS (
    SELECT kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread
    FROM selected_kernel AS kernel JOIN matched USING (name_id)
    GROUP BY kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, static_shared_bytes,
        dynamic_shared_bytes
), launch AS (
    SELECT kernel, count(*) AS shapes, count(DISTINCT row(grid_x, grid_y, grid_z)) AS grids,
        count(DISTINCT row(block_x, block_y, block_z)) AS blocks, any_value(dimensions(grid_x, grid_y, grid_z)) AS grid,
        any_value(dimensions(block_x, block_y, block_z)) AS block, max(registers_per_thread) AS registers
    FROM shape GROUP BY kernel
)
SELECT kernel, name, class, total_ns,
    100.0 * total_ns / nullif(whole_ns, 0) AS share_pct, calls, avg_ns, median_ns, min_ns, max_ns, stddev_ns,
    CASE WHEN grids > 1 THEN grids || ' shapes' ELSE grid END AS grid,
    CASE WHEN blocks > 1 THEN blocks || ' shapes' ELSE block END AS block, shapes, registers, demangled
FROM duration JOIN launch USING (kernel)
ORDER BY total_ns DESC, calls, demangled
LIMIT $limit::BIGINT;
