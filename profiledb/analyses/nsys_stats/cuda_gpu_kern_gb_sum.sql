-- title: CUDA GPU kernel/grid/block summary
-- Durations of kernels by name and launch shape, as `nsys stats -r cuda_gpu_kern_gb_sum` prints them (`by=short` is its
-- option `base`). Rows of equal total, count and name, unordered in nsys, are ordered by shape. Kernels with an end
-- before their start are left out, unlike in nsys.
-- includes: selection, nsys
-- selects: part
-- param: by = demangled (demangled, short, mangled) kernel name to group by
-- needs: kernel
-- column: Time (%) | % | .1f | share of the sum of the listed totals
-- column: Total Time (ns) | ns | | sum of durations
-- column: Instances | count | | number of launches
-- column: Avg (ns) | ns | .1f | mean duration
-- column: Med (ns) | ns | .1f | median duration
-- column: Min (ns) | ns | | shortest duration
-- column: Max (ns) | ns | | longest duration
-- column: StdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: GridXYZ | blocks | | blocks of the grid in x, y and z, each in four characters or more
-- column: BlockXYZ | threads | | threads per block in x, y and z, each in four characters or more
-- column: Name | text | | name of the kernel
WITH summary AS (
    SELECT any_value(name) AS name, grid_x, grid_y, grid_z, block_x, block_y, block_z,
        sum(end_ns - start_ns)::BIGINT AS total, count(*) AS num, avg(end_ns - start_ns) AS mean,
        median(end_ns - start_ns) AS med, min(end_ns - start_ns) AS low, max(end_ns - start_ns) AS high,
        deviation(end_ns - start_ns) AS dev
    FROM selected_kernel AS kernel JOIN kernel_names($by) USING (name_id)
    GROUP BY name_key, grid_x, grid_y, grid_z, block_x, block_y, block_z
)
SELECT nsys_round(total * 1e2 / sum(total) OVER ()) AS "Time (%)", total AS "Total Time (ns)", num AS "Instances",
    nsys_round(mean) AS "Avg (ns)", nsys_round(med) AS "Med (ns)", low AS "Min (ns)", high AS "Max (ns)",
    nsys_round(dev) AS "StdDev (ns)", format('{:4d} {:4d} {:4d}', grid_x, grid_y, grid_z) AS "GridXYZ",
    format('{:4d} {:4d} {:4d}', block_x, block_y, block_z) AS "BlockXYZ", name AS "Name"
FROM summary
ORDER BY total DESC, num, name, grid_x, grid_y, grid_z, block_x, block_y, block_z;
