-- title: CPU samples by module
-- CPU samples by module: the module of the innermost function of the call chain (self), and any module in it (total).
-- See `cpu_functions`.
-- page: host
-- show: module 360, self_pct bar 110, self_samples, total_pct bar 110, total_samples
-- prefetch: part
-- prefetch: part source=python of python_sample
-- needs: cpu_sample or python_sample
-- includes: host
-- selects: part
-- param: source = cpu (cpu, python) samples of the CPU, or of the threads' Python stacks
-- param: moments = all (all, idle) all samples, or only those taken while no GPU was busy, between its operations
-- param: thread =  process and thread id in the form of `host_threads`; empty: all threads
-- column: module | text | | binary or source file; empty if unknown
-- column: self_samples = Self | count | | samples in this module itself
-- column: self_pct = Self | % | .1f | share of all samples in this module itself
-- column: total_samples = Total | count | | samples in this module or its callees
-- column: total_pct = Total | % | .1f | share of all samples in this module or its callees
WITH asked AS MATERIALIZED (FROM selected_sample($source, $moments, $thread)
), frame AS (
    SELECT number, depth, function, coalesce(module, '') AS module
    FROM asked LEFT JOIN host_frame($source) ON callchain_id = sample_id
), leaf AS (
    SELECT arg_min(module, (depth, function, module)) AS module FROM frame GROUP BY number
), self AS (SELECT module, count(*) AS samples FROM leaf GROUP BY module
), total AS (SELECT module, count(DISTINCT number) AS samples FROM frame GROUP BY module
), whole AS (SELECT count(*) AS samples FROM asked
)
SELECT module, coalesce(self.samples, 0) AS self_samples, 100.0 * self_samples / whole.samples AS self_pct,
    total.samples AS total_samples, 100.0 * total.samples / whole.samples AS total_pct
FROM total LEFT JOIN self USING (module) CROSS JOIN whole
ORDER BY self_samples DESC, total_samples DESC, module;
