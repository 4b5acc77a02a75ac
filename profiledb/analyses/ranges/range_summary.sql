-- title: Ranges by name
-- Durations of ranges on the CPU by name and style, with the program's names. A range counts in full, including nested
-- ranges.
-- page: summary
-- show: name 380, total_ns, instances, avg_ns, median_ns, max_ns, style
-- prefetch: part
-- prefetch: steady
-- needs: range
-- includes: selection, nsys
-- selects: part
-- column: name = Range | text | | name of the range, after its domain and a colon, if any
-- column: style | text | | PushPop or StartEnd
-- column: total_ns | ns | | sum of durations on the CPU, between start and end
-- column: instances | count | | number of instances
-- column: avg_ns = Average | ns | .1f | mean duration
-- column: median_ns | ns | .1f | median duration
-- column: min_ns | ns | | shortest duration
-- column: max_ns = Longest | ns | | longest duration
-- column: stddev_ns = Std dev | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
SELECT name, style, sum(end_ns - start_ns)::BIGINT AS total_ns, count(*) AS instances,
    avg(end_ns - start_ns) AS avg_ns, median(end_ns - start_ns) AS median_ns, min(end_ns - start_ns) AS min_ns,
    max(end_ns - start_ns) AS max_ns, deviation(end_ns - start_ns) AS stddev_ns
FROM selected_range AS range JOIN range_name USING (name_id)
GROUP BY name, style
ORDER BY total_ns DESC, name, style;
