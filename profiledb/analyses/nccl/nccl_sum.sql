-- title: NCCL by operation
-- The kernels of NCCL by operation, as `nsys recipe nccl_sum` sums them, with the bytes that NCCL says they carried
-- (nccl_ops) and the bandwidth that follows. Durations hold the wait for the ranks that came later, so the bandwidth is
-- a lower end: of all ranks together `warpdeck scaling` takes the waits out. It is that of the operations
-- whose bytes are known, `sized`; where there are none it is empty.
-- page: scaling
-- show: operation 130, count, total_ns, mean_ns, min_ns, max_ns, bytes, algbw_gb_per_s
-- needs: kernel
-- includes: nccl
-- selects: part
-- column: operation | text | | AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, SendRecv, AlltoAll ...; other
-- column: count | count | | kernels
-- column: total_ns | ns | | sum of their durations, with the waits for other ranks
-- column: share_pct | % | .1f | share of the time of all kernels of NCCL
-- column: mean_ns | ns | .1f | mean duration
-- column: median_ns | ns | .1f | median duration
-- column: min_ns = Shortest | ns | | shortest duration
-- column: max_ns = Longest | ns | | longest duration
-- column: stddev_ns = Std dev | ns | .1f | sample standard deviation (n - 1), empty for a single one
-- column: sized | count | | kernels whose size is known
-- column: bytes | bytes | | sum of their sizes as nccl-tests counts them
-- column: mean_bytes | bytes | .1f | mean size
-- column: algbw_gb_per_s = Algorithm | GB/s | .2f | bytes ÷ durations, waits included
SELECT operation, count(*) AS count, sum(duration_ns)::BIGINT AS total_ns,
    100.0 * sum(duration_ns) / nullif(sum(sum(duration_ns)) OVER (), 0) AS share_pct, avg(duration_ns) AS mean_ns,
    median(duration_ns) AS median_ns, min(duration_ns) AS min_ns, max(duration_ns) AS max_ns,
    stddev_samp(duration_ns) AS stddev_ns, count(size_bytes) AS sized, sum(size_bytes)::BIGINT AS bytes,
    avg(size_bytes) AS mean_bytes,
    sum(size_bytes) / nullif(sum(duration_ns) FILTER (size_bytes IS NOT NULL), 0) AS algbw_gb_per_s
FROM selected_nccl_op GROUP BY operation ORDER BY total_ns DESC, operation;
