-- title: Copies and memory sets by direction
-- Copies and memory sets on the GPU by direction, the longest total first, with the bandwidth that they reached: bytes
-- over the time in which they ran, each for itself. The peak is that of what limits them: the memory of the GPU for
-- copies inside it and for memory sets, else the link to the host as the data sheet of the GPU states it; no row where
-- operations have different peaks has one. A copy inside a GPU reads and writes, so its traffic is twice its bytes.
-- needs: memop
-- includes: memory
-- selects: part
-- column: direction | text | | direction of the copy, or memset
-- column: kind | text | | memcpy or memset
-- column: total_ns | ns | | sum of durations on the GPU
-- column: count = Operations | count | | number of operations
-- column: bytes = Size | bytes | | sum of sizes
-- column: avg_bytes = Average size | bytes | .1f | mean size of an operation
-- column: bytes_per_s = Bandwidth | bytes/s | .0f | sum of sizes over sum of durations
-- column: traffic_bytes_per_s | bytes/s | .0f | the same of what was read and written in the memory that limits
-- column: peak_bytes_per_s = Peak | bytes/s | .0f | GPU memory as the report states it; the link to the host as the GPU's data sheet states it, for no report of nsys does: a slot or a machine may be slower
-- column: peak_pct = Of the peak | % | .1f | of the GPU's memory for copies inside it, which read and write and so move twice their size, and for memory sets; else of one direction of the link to the host
SELECT direction, kind, total_ns, count, bytes, avg_bytes, bytes_per_s, traffic_bytes_per_s, peak_bytes_per_s,
    100.0 * traffic_bytes_per_s / peak_bytes_per_s AS peak_pct
FROM selected_copy_sum
ORDER BY total_ns DESC, direction;
