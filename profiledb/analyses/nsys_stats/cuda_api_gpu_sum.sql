-- title: CUDA summary (calls, kernels and memory operations)
-- Durations of CUDA calls, kernels, memcpy and memset operations by name, as `nsys stats -r cuda_api_gpu_sum` prints
-- them (`by=short` is its option `base`). Equal names share a row, as in nsys: versions of a function, which
-- cuda_api_sum separates, and a kernel named like a function. Equal totals are ordered by name. Calls and operations
-- with an end before their start are left out, unlike in nsys.
-- includes: nsys
-- selects: part
-- param: by = demangled (demangled, short, mangled) kernel name to group by
-- needs: api_call or kernel or memop
-- column: Time (%) | % | .1f | share of the sum of the listed totals
-- column: Total Time (ns) | ns | | sum of durations
-- column: Instances | count | | number of calls or launches
-- column: Avg (ns) | ns | .1f | mean duration
-- column: Med (ns) | ns | .1f | median duration
-- column: Min (ns) | ns | | shortest duration
-- column: Max (ns) | ns | | longest duration
-- column: StdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: Category | text | | CUDA_API, CUDA_KERNEL or MEMORY_OPER
-- column: Operation | text | | name of the function or kernel, or kind and direction of the memory operation
SELECT nsys_round(total * 1e2 / sum(total) OVER ()) AS "Time (%)", total AS "Total Time (ns)", num AS "Instances",
    nsys_round(mean) AS "Avg (ns)", nsys_round(med) AS "Med (ns)", low AS "Min (ns)", high AS "Max (ns)",
    nsys_round(dev) AS "StdDev (ns)", category AS "Category", name AS "Operation"
FROM selected_operation_sum($by, true)
ORDER BY total DESC, name NULLS FIRST;
