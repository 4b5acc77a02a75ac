-- title: Performance counters of kernels
-- Counters of the GPU by kernel, as AMD's rocprofv3 reads them at each launch (`--pmc`), most kernel time first. The
-- value of a launch is the sum over the parts of the GPU that the counter counts in, as in the CSV of rocprofv3. Units
-- and meanings are those that the file states. A launch for which a counter was not read counts nowhere.
-- page: kernel
-- show: counter 240, avg_value, min_value, median_value, max_value, total_value, launches, unit, description 420
-- needs: counter_value
-- includes: selection, counters
-- selects: part
-- param: kernel =  number of a kernel (analysis kernels), or its full name; all kernels without it
-- param: limit = 1000 at most this many rows
-- column: kernel | text | | number of the kernel
-- column: name = Kernel | text | | name without templates and arguments
-- column: counter | text | | name of the counter
-- column: launches | count | | launches for which it was read
-- column: avg_value = Average | number | .6g | mean of the launches
-- column: min_value = Min | number | .6g | smallest value of a launch
-- column: median_value = Median | number | .6g | median of the launches
-- column: max_value = Max | number | .6g | largest value of a launch
-- column: total_value = Total | number | .6g | sum over the launches
-- column: unit | text | | unit that the file states
-- column: description = Meaning | text | | what the file says of the counter
WITH read AS (
    SELECT name_id, counter_id, count(*) AS launches, avg(value) AS avg_value, min(value) AS min_value,
        median(value) AS median_value, max(value) AS max_value, sum(value) AS total_value
    FROM selected_kernel AS kernel JOIN counter_value USING (kernel_id)
    WHERE $kernel::VARCHAR IS NULL OR name_id IN (FROM kernel_ids($kernel)) GROUP BY name_id, counter_id
), spent AS (
    SELECT name_id, sum(end_ns - start_ns) AS ns FROM selected_kernel AS kernel GROUP BY name_id
)
SELECT kernel, short AS name, counter.name AS counter, launches, avg_value, min_value, median_value, max_value,
    total_value, unit, description
FROM read JOIN spent USING (name_id) JOIN kernel_key USING (name_id) JOIN counter USING (counter_id)
ORDER BY ns DESC, name_id, counter
LIMIT $limit::BIGINT;
