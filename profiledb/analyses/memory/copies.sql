-- title: Memcpy and memset by direction
-- Memcpy and memset operations on the GPU by direction, longest total first, with their achieved bandwidth: bytes over
-- the sum of their durations. The peak is that of the limiter: GPU memory for copies inside a GPU and for memsets, else
-- the link to the host from the GPU's data sheet; rows that mix operations with different peaks have none. A copy
-- inside a GPU reads and writes, so its traffic is twice its bytes. A share above 105 % of the peak is impossible: it
-- stays empty, and `contradiction` gives the reason.
-- page: memory
-- show: direction 190, total_ns, count, bytes, avg_bytes, bytes_per_s, peak_pct bar 130, peak_bytes_per_s
-- show: traffic_bytes_per_s
-- prefetch: part
-- prefetch: steady
-- needs: memop
-- includes: memory, share
-- selects: part
-- column: direction | text | | memcpy direction, or memset
-- column: kind | text | | memcpy or memset
-- column: total_ns | ns | | sum of durations on the GPU
-- column: count = Operations | count | | number of operations
-- column: bytes = Size | bytes | | sum of sizes
-- column: avg_bytes = Average size | bytes | .1f | mean size of an operation
-- column: bytes_per_s = Bandwidth | bytes/s | .0f | sum of sizes over sum of durations: each byte counts once
-- column: traffic_bytes_per_s = Traffic, read + write | bytes/s | .0f | bytes moved by the limiting memory or link: copies inside a GPU read and write each byte, so twice the copied bytes; else the copied bytes
-- column: peak_bytes_per_s = Peak | bytes/s | .0f | peak of the GPU memory, from the report; or of the link to the host, from the GPU's data sheet, because no nsys report has it; a slot or machine may be slower
-- column: peak_pct = Traffic of peak | % | .1f | traffic as a share of the peak; for copies inside a GPU, reads and writes both count; empty above 105 %, which is impossible
-- column: contradiction | text | | reason for an empty share although both values are known
SELECT direction, kind, total_ns, count, bytes, avg_bytes, bytes_per_s, traffic_bytes_per_s, peak_bytes_per_s,
    share_of_peak(traffic_bytes_per_s, peak_bytes_per_s) AS peak_pct,
    peak_contradiction(traffic_bytes_per_s, peak_bytes_per_s, 'B', direction,
        format('From {} bytes in {:.4g} ms: the times, the sizes or the peak is wrong', bytes, total_ns / 1e6))
        AS contradiction
FROM selected_copy_sum
ORDER BY total_ns DESC, direction;
