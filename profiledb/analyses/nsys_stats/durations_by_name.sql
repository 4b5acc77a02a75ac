-- title: Durations by name
-- Durations, or sizes, of one kind of event by name, with the quartiles of both kinds that the summaries of `nsys
-- recipe` print: the lower and upper quartile of its SQLite are an element, or the mean of the two elements between
-- which the quartile falls; those of pandas lie between elements by linear interpolation. Ranges count if they are
-- closed, by their text without the domain. Events that take no time count for kernels, calls and copies alone.
-- Two functions whose names differ in a version suffix alone have two rows, as in nsys.
-- includes: selection, nsys
-- selects: part
-- param: of = kernels (kernels, calls, os_calls, copy_times, copy_sizes, ranges, nccl_ranges, mpi_calls, range_projections, nccl_projections) kind of event
-- column: name | text | | name of the kernel, function, operation or range
-- column: count | count | | number of events
-- column: total | number | | sum, ns or bytes
-- column: mean | number | .1f | mean, ns or bytes
-- column: deviation | number | .1f | sample standard deviation; missing for a single event
-- column: min | number | | smallest, ns or bytes
-- column: lower_quartile | number | .1f | lower quartile as the SQLite of nsys has it
-- column: q1 | number | .1f | first quartile by linear interpolation
-- column: median | number | .1f | median, ns or bytes
-- column: q3 | number | .1f | third quartile by linear interpolation
-- column: upper_quartile | number | .1f | upper quartile as the SQLite of nsys has it
-- column: max | number | | largest, ns or bytes
WITH event AS (
    SELECT demangled AS name, end_ns - start_ns AS value, NULL::BIGINT AS name_id
    FROM selected_kernel JOIN kernel_name USING (name_id) WHERE $of = 'kernels'
    UNION ALL BY NAME
    SELECT nsys_function(string.value) AS name, end_ns - start_ns AS value, string_id AS name_id
    FROM selected_api_call JOIN string ON string_id = name_id WHERE $of = 'calls'
    UNION ALL BY NAME
    SELECT string.value AS name, end_ns - start_ns AS value
    FROM selected_osrt_call JOIN string ON string_id = name_id WHERE $of = 'os_calls' AND event_class = 27
    UNION ALL BY NAME
    SELECT operation AS name, CASE $of WHEN 'copy_times' THEN end_ns - start_ns ELSE bytes END AS value
    FROM selected_memop WHERE $of IN ('copy_times', 'copy_sizes')
    UNION ALL BY NAME
    SELECT text AS name, end_ns - start_ns AS value
    FROM selected_range JOIN range_name USING (name_id)
    WHERE closed AND end_ns > start_ns AND ($of = 'ranges' OR ($of = 'nccl_ranges' AND domain = 'NCCL'))
    UNION ALL BY NAME
    SELECT string.value AS name, end_ns - start_ns AS value
    FROM selected_mpi_call JOIN string ON string_id = name_id WHERE $of = 'mpi_calls' AND end_ns > start_ns
    UNION ALL BY NAME
    SELECT text AS name, projection.end_ns - projection.start_ns AS value
    FROM projection JOIN selected_range AS range USING (range_id) JOIN range_name USING (name_id)
    WHERE mode = 'thread' AND closed AND projection.end_ns > projection.start_ns
        AND ($of = 'range_projections' OR ($of = 'nccl_projections' AND domain = 'NCCL'))
)
SELECT name, count(*) AS count, sum(value)::BIGINT AS total, avg(value) AS mean, stddev_samp(value) AS deviation,
    min(value) AS min, (quantile_disc(value, 0.25) - quantile_disc(-value, 0.75)) / 2 AS lower_quartile,
    quantile_cont(value, 0.25) AS q1, median(value) AS median, quantile_cont(value, 0.75) AS q3,
    (quantile_disc(value, 0.75) - quantile_disc(-value, 0.25)) / 2 AS upper_quartile, max(value) AS max
FROM event
WHERE name IS NOT NULL
GROUP BY name, name_id
ORDER BY total DESC, name;
