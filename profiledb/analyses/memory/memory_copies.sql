-- title: Memcpy and memset
-- The sums of `copies` under nsys names: by kind and direction, longest total first, in exact bytes. The rate is bytes
-- over the sum of durations.
-- page: summary
-- show: operation 260, total_ns, count, bytes, avg_bytes, bytes_per_s
-- prefetch: part
-- prefetch: steady
-- needs: memop
-- includes: memory
-- selects: part
-- column: operation | text | | kind and direction
-- column: total_ns | ns | | sum of durations
-- column: count = Operations | count | | number of operations
-- column: bytes = Size | bytes | | sum of sizes
-- column: avg_bytes = Average size | bytes | .1f | mean size of an operation
-- column: bytes_per_s = Bandwidth | bytes/s | .0f | sum of sizes over sum of durations
SELECT regexp_replace(operation, '^\[CUDA (.*)\]$', '\1') AS operation, total_ns, count, bytes, avg_bytes, bytes_per_s
FROM selected_copy_sum
ORDER BY total_ns DESC, operation;
