-- title: NCCL by operation
-- NCCL kernels by operation, summed as in `nsys recipe nccl_sum`, with the bytes that NCCL states (nccl_ops) and the
-- resulting bandwidth. Durations include the wait for late ranks, so the bandwidth is a lower bound: `warpdeck scaling`
-- removes the waits over all ranks. It covers the operations with known bytes, `sized`; empty if there are none.
-- page: scaling
-- show: operation 130, count, total_ns, mean_ns, min_ns, max_ns, bytes, algbw_gb_per_s
-- needs: kernel
-- includes: nccl
-- selects: part
-- column: operation | text | | AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, SendRecv, AlltoAll ...; other
-- column: count | count | | number of kernels
-- column: total_ns | ns | | sum of durations, including waits for other ranks
-- column: share_pct | % | .1f | share of the time of all NCCL kernels
-- column: mean_ns | ns | .1f | mean duration
-- column: median_ns | ns | .1f | median duration
-- column: min_ns = Shortest | ns | | shortest duration
-- column: max_ns = Longest | ns | | longest duration
-- column: stddev_ns = Std dev | ns | .1f | sample standard deviation (n - 1), empty for a single kernel
-- column: sized | count | | kernels whose size is known
-- column: bytes | bytes | | sum of these sizes as nccl-tests counts them
-- column: mean_bytes | bytes | .1f | mean size
-- column: algbw_gb_per_s = Algorithm | GB/s | .2f | bytes ÷ durations, waits included
SELECT operation, count(*) AS count, sum(duration_ns)::BIGINT AS total_ns,
    100.0 * sum(duration_ns) / nullif(sum(sum(duration_ns)) OVER (), 0) AS share_pct, avg(duration_ns) AS mean_ns,
    median(duration_ns) AS median_ns, min(duration_ns) AS min_ns, max(duration_ns) AS max_ns,
    stddev_samp(duration_ns) AS stddev_ns, count(size_bytes) AS sized, sum(size_bytes)::BIGINT AS bytes,
    avg(size_bytes) AS mean_bytes,
    sum(size_bytes) / nullif(sum(duration_ns) FILTER (size_bytes IS NOT NULL), 0) AS algbw_gb_per_s
FROM selected_nccl_op GROUP BY operation ORDER BY total_ns DESC, operation;
