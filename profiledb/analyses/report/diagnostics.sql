-- title: Diagnostics
-- Messages of the profiler and the conversion: errors first, then warnings, then the rest. Equal messages share a row.
-- page: summary
-- prefetch: part
-- column: severity | text | | error, warning or info
-- column: source | text | | warpdeck, or the reporting part of the profiler
-- column: text | text | | the message
-- column: times | count | | number of times
-- column: first_ns | ns | | first time, on the profiler's clock, if the message has one
SELECT severity, source, "text", count(*) AS times, min(time_ns) AS first_ns
FROM diagnostic
GROUP BY severity, source, "text"
ORDER BY CASE severity WHEN 'error' THEN 0 WHEN 'warning' THEN 1 ELSE 2 END, first_ns, "text";
