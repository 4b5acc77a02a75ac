-- title: CPU samples by function
-- CPU samples by function: the innermost function of the call chain (self), and any function in it (total). Nsight
-- Systems samples only running threads. Python stack samples are taken at equal intervals instead, of running and
-- waiting threads. All threads count, in the selected time; for ranges, this is their time on the GPU.
-- page: host
-- show: function 360, self_pct bar 110, self_samples, total_pct bar 110, total_samples, module 200, threads
-- prefetch: part
-- prefetch: part moments=idle
-- prefetch: part source=python of python_sample
-- prefetch: part source=python moments=idle of python_sample
-- needs: cpu_sample or python_sample
-- includes: host
-- selects: part
-- param: source = cpu (cpu, python) samples of the CPU, or of the threads' Python stacks
-- param: moments = all (all, idle) all samples, or only those taken while no GPU was busy, between its operations
-- param: thread =  process and thread id in the form of `host_threads`; empty: all threads
-- param: limit = 200 at most this many rows
-- column: function | text | | function, or the module in brackets if it has no symbol
-- column: module | text | | file of the function
-- column: self_samples = Self | count | | samples in this function itself
-- column: self_pct = Self | % | .1f | share of all samples in this function itself
-- column: total_samples = Total | count | | samples in this function or its callees
-- column: total_pct = Total | % | .1f | share of all samples in this function or its callees
-- column: threads | count | | threads sampled in it or its callees
WITH asked AS MATERIALIZED (FROM selected_sample($source, $moments, $thread)
), frame AS (
    SELECT number, global_tid, depth, coalesce(function, '[no symbol]') AS function, module
    FROM asked LEFT JOIN host_frame($source) ON callchain_id = sample_id
), leaf AS (
    SELECT arg_min({function: function, module: module}, (depth, function, module)) AS innermost
    FROM frame GROUP BY number
), self AS (
    SELECT innermost.function, innermost.module, count(*) AS samples FROM leaf GROUP BY ALL
), total AS (
    SELECT function, module, count(DISTINCT number) AS samples, count(DISTINCT global_tid) AS threads
    FROM frame GROUP BY ALL
), whole AS (SELECT count(*) AS samples FROM asked
)
SELECT total.function, total.module, coalesce(self.samples, 0) AS self_samples,
    100.0 * self_samples / whole.samples AS self_pct, total.samples AS total_samples,
    100.0 * total.samples / whole.samples AS total_pct, threads
FROM total CROSS JOIN whole
LEFT JOIN self ON self.function = total.function AND self.module IS NOT DISTINCT FROM total.module
ORDER BY self_samples DESC, total_samples DESC, total.function, total.module LIMIT $limit::BIGINT;
