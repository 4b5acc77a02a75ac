-- title: CUDA GPU summary (kernels and memory operations)
-- Durations of kernels, memcpy and memset operations by name, as `nsys stats -r cuda_gpu_sum` prints them (`by=short`
-- is its option `base`). CUDA graphs traced as a whole are missing, as in nsys. Equal totals are ordered by name.
-- Operations with an end before their start are left out, unlike in nsys.
-- includes: nsys
-- selects: part
-- param: by = demangled (demangled, short, mangled) kernel name to group by
-- needs: kernel or memop
-- column: Time (%) | % | .1f | share of the sum of the listed totals
-- column: Total Time (ns) | ns | | sum of durations
-- column: Instances | count | | number of launches
-- column: Avg (ns) | ns | .1f | mean duration
-- column: Med (ns) | ns | .1f | median duration
-- column: Min (ns) | ns | | shortest duration
-- column: Max (ns) | ns | | longest duration
-- column: StdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: Category | text | | CUDA_KERNEL or MEMORY_OPER
-- column: Operation | text | | name of the kernel, or kind and direction of the memory operation
SELECT nsys_round(total * 1e2 / sum(total) OVER ()) AS "Time (%)", total AS "Total Time (ns)", num AS "Instances",
    nsys_round(mean) AS "Avg (ns)", nsys_round(med) AS "Med (ns)", low AS "Min (ns)", high AS "Max (ns)",
    nsys_round(dev) AS "StdDev (ns)", category AS "Category", name AS "Operation"
FROM selected_operation_sum($by, false)
ORDER BY total DESC, name NULLS FIRST;
