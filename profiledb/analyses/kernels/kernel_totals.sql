-- title: Kernels with their names in other reports
-- One row per kernel with its identity in other reports: the linker's name, and the full name without the parts that
-- profilers write differently (casts, return types, parameters, const, spaces). Longest total first.
-- page: compare
-- needs: kernel
-- includes: selection, pair, attention
-- selects: part
-- column: kernel | text | | number of the kernel in this report
-- column: name | text | | readable name without templates and arguments
-- column: class | class | | kernel class
-- column: mangled | text | | mangled name, if captured
-- column: normal_name | text | | full name without the parts that profilers write differently
-- column: total_ns | ns | | sum of durations
-- column: calls = Launches | count | | number of launches
-- column: threads | count | | sum of threads over all launches: blocks of the grid times threads per block
-- column: demangled | text | | full name with template arguments
WITH total AS (
    SELECT name_id, sum(end_ns - start_ns) AS total_ns, count(*) AS calls,
        sum(grid_x::BIGINT * grid_y * grid_z * block_x * block_y * block_z) AS threads
    FROM selected_kernel GROUP BY name_id
), whole AS (
    SELECT kernel, min(mangled) AS mangled, any_value(class) AS class, any_value(short) AS short,
        any_value(demangled) AS demangled, sum(total_ns)::BIGINT AS total_ns, sum(calls)::BIGINT AS calls,
        sum(threads)::BIGINT AS threads
    FROM total JOIN kernel_key USING (name_id) GROUP BY kernel
)
SELECT kernel, readable_name(short, demangled) AS name, class, mangled,
    coalesce(normal_name(demangled), demangled) AS normal_name, total_ns, calls, threads, demangled
FROM whole
ORDER BY total_ns DESC, calls, demangled;
