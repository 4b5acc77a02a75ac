-- title: Kernel time by bin
-- Time in which a process ran kernels on a GPU, in bins of equal length, as the utilization maps of `nsys recipe` count
-- it: concurrent kernels count once. An NCCL kernel is one that the projection of an NCCL range covers alone.
-- needs: kernel
-- includes: selection
-- selects: part
-- param: of = kernels (kernels, nccl, compute) all kernels, those of NCCL, or the others
-- param: bin_ns = 1000000 length of a bin, ns
-- param: shift_ns = 0 time by which the session began after the first bin, ns
-- column: pid | id | | process id
-- column: device_id | id | | number of the GPU
-- column: bin | count | | number of the bin, from 0
-- column: used_ns | ns | | time with a kernel in the bin
WITH nccl AS (
    SELECT DISTINCT projection.start_ns, projection.end_ns
    FROM projection JOIN selected_range AS range USING (range_id) JOIN range_name USING (name_id)
    WHERE $of <> 'kernels' AND mode = 'thread' AND closed AND domain = 'NCCL'
), work AS (
    SELECT pid_of(global_pid) AS pid, device_id, start_ns + $shift_ns::BIGINT AS low,
        end_ns + $shift_ns::BIGINT AS high
    FROM selected_kernel LEFT JOIN nccl USING (start_ns, end_ns)
    WHERE end_ns > start_ns AND ($of = 'kernels' OR ($of = 'nccl') = (nccl.start_ns IS NOT NULL))
), started AS (
    SELECT *, coalesce(low > max(high) OVER (
        PARTITION BY pid, device_id ORDER BY low, high ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), true) AS begins
    FROM work
), island AS (
    SELECT pid, device_id, min(low) AS low, max(high) AS high
    FROM (
        SELECT *, sum(begins::INTEGER) OVER (
            PARTITION BY pid, device_id ORDER BY low, high ROWS UNBOUNDED PRECEDING
        ) AS number
        FROM started
    )
    GROUP BY pid, device_id, number
), placed AS (
    SELECT *, unnest(generate_series(low // size, (high - 1) // size)) AS bin
    FROM (
        SELECT *,
            CASE WHEN $bin_ns::BIGINT > 0 THEN $bin_ns::BIGINT ELSE error('bin_ns is a number above 0') END AS size
        FROM island
    )
)
SELECT pid, device_id, bin, sum(least(high, (bin + 1) * size) - greatest(low, bin * size))::BIGINT AS used_ns
FROM placed
GROUP BY pid, device_id, bin
ORDER BY pid, device_id, bin;
