-- title: Kernels to measure
-- The kernels that make most of the kernel time, longest first, as Nsight Compute finds them: names, number of launches
-- and launch shapes. `warpdeck profile --deep` measures these.
-- needs: kernel
-- includes: selection
-- selects: part
-- param: share = 80  the kernels that make this many percent of the kernel time together
-- param: limit = 12  at most this many kernels
-- column: kernel | text | | number of the kernel in this report, as in the analysis `kernels`
-- column: name = Kernel | text | | readable name without templates and arguments
-- column: short | text | | name as ncu matches it by default: without templates and arguments
-- column: mangled | text | | name as the linker knows it, where captured
-- column: total_ns | ns | | sum of durations
-- column: share_pct | % | .2f | share of the kernel time
-- column: calls = Launches | count | | number of launches
-- column: shapes | count | | different launches: grid, block and shared memory
-- column: rarest_calls | count | | launches of the shape that is launched least
WITH shape AS (
    SELECT kernel, any_value(short) AS short, any_value(demangled) AS demangled, any_value(mangled) AS mangled,
        count(*) AS calls, sum(end_ns - start_ns)::BIGINT AS total_ns
    FROM selected_kernel AS launched JOIN kernel_key USING (name_id)
    GROUP BY kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, static_shared_bytes, dynamic_shared_bytes
), whole AS (
    SELECT kernel, any_value(short) AS short, any_value(demangled) AS demangled, any_value(mangled) AS mangled,
        sum(total_ns)::BIGINT AS total_ns, sum(calls)::BIGINT AS calls, count(*) AS shapes,
        min(calls) AS rarest_calls
    FROM shape GROUP BY kernel
), ranked AS (
    SELECT *, 100.0 * total_ns / nullif(sum(total_ns) OVER (), 0) AS share_pct,
        100.0 * coalesce(sum(total_ns) OVER (
            ORDER BY total_ns DESC, demangled ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
            / nullif(sum(total_ns) OVER (), 0) AS before_pct
    FROM whole
)
SELECT kernel, readable_name(short, demangled) AS name, short, mangled, total_ns, share_pct, calls, shapes, rarest_calls
FROM ranked WHERE before_pct < $share::DOUBLE
ORDER BY total_ns DESC, demangled
LIMIT $limit::BIGINT;
