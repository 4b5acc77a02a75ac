-- title: Memcpy and memset by direction
-- Memcpy and memset operations on the GPU by direction, the longest total first, with the bandwidth that they reached:
-- bytes over the time in which they ran, each for itself. The peak is that of what limits them: the memory of the GPU
-- for copies inside it and for memsets, else the link to the host as the data sheet of the GPU states it; no row where
-- operations have different peaks has one. A copy inside a GPU reads and writes, so its traffic is twice its bytes. A
-- share above 105 % of the peak is impossible: it stays empty, and `contradiction` says why.
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
-- column: traffic_bytes_per_s = Traffic, read + write | bytes/s | .0f | what the limiting memory or link moved: a copy inside a GPU reads and writes each byte, so twice what was copied; else what was copied
-- column: peak_bytes_per_s = Peak | bytes/s | .0f | peak of the GPU memory, from the report; or of the link to the host, from the GPU's data sheet, because no nsys report has it; a slot or machine may be slower
-- column: peak_pct = Traffic of peak | % | .1f | traffic as a share of the peak; for copies inside a GPU, reads and writes both count; empty above 105 %, which is impossible
-- column: contradiction | text | | why the share is empty although both are known
SELECT direction, kind, total_ns, count, bytes, avg_bytes, bytes_per_s, traffic_bytes_per_s, peak_bytes_per_s,
    share_of_peak(traffic_bytes_per_s, peak_bytes_per_s) AS peak_pct,
    peak_contradiction(traffic_bytes_per_s, peak_bytes_per_s, 'B', direction,
        format('From {} bytes in {:.4g} ms: the times, the sizes or the peak is wrong', bytes, total_ns / 1e6))
        AS contradiction
FROM selected_copy_sum
ORDER BY total_ns DESC, direction;
