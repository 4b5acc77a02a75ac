-- title: Memcpy and memset bandwidth by size
-- Memcpy and memset operations by direction, size and achieved bandwidth, in cells of a quarter octave each, most
-- operations first: latency limits small copies, the link limits large ones. Operations without a duration or size have
-- no bandwidth and are left out.
-- page: memory
-- prefetch: part
-- needs: memop
-- includes: memory
-- selects: part
-- param: points = 2000 at most this many cells
-- column: direction | text | | memcpy direction, or memset
-- column: bytes | bytes | .0f | mean size of the operations in the cell (geometric)
-- column: bytes_per_s | bytes/s | .0f | mean bandwidth of the operations in the cell (geometric)
-- column: count | count | | number of operations in the cell
-- column: total_ns | ns | | sum of their durations
WITH copy AS (
    SELECT direction, log2(bytes) AS size, log2(bytes * 1e9 / duration_ns) AS rate, duration_ns
    FROM selected_copy WHERE bytes > 0 AND duration_ns > 0
)
SELECT direction, 2 ^ avg(size) AS bytes, 2 ^ avg(rate) AS bytes_per_s, count(*) AS count,
    sum(duration_ns)::BIGINT AS total_ns
FROM copy GROUP BY direction, floor(4 * size), floor(4 * rate)
ORDER BY count DESC, total_ns DESC, direction, bytes, bytes_per_s LIMIT $points::BIGINT;
