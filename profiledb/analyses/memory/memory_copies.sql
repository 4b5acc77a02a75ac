-- title: Memory copies and memory sets
-- Copies and memory sets on the GPU by direction, the longest total first, in exact bytes. The rate is bytes over the
-- time in which copies of this direction ran, each for itself.
-- needs: memop
-- includes: selection
-- selects: part
-- column: operation | text | | kind and direction
-- column: total_ns | ns | | sum of durations
-- column: count = Operations | count | | number of operations
-- column: bytes = Size | bytes | | sum of sizes
-- column: avg_bytes = Average size | bytes | .1f | mean size of an operation
-- column: bytes_per_s = Rate | bytes/s | .0f | sum of sizes over sum of durations
SELECT regexp_replace(operation, '^\[CUDA (.*)\]$', '\1') AS operation, sum(end_ns - start_ns)::BIGINT AS total_ns,
    count(*) AS count, sum(bytes)::BIGINT AS bytes, avg(bytes) AS avg_bytes,
    sum(bytes) * 1e9 / nullif(sum(end_ns - start_ns), 0) AS bytes_per_s
FROM selected_memop AS memop WHERE operation IS NOT NULL
GROUP BY memop.operation
ORDER BY total_ns DESC, operation;
