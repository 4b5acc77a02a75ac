-- title: NVTX start/end range summary
-- Durations of NVTX start/end ranges on the CPU by name, as `nsys stats -r nvtx_startend_sum` prints them. Unclosed
-- ranges end with the NVTX data; nsys leaves their times empty if no event of the report has an end. Equal totals are
-- ordered by name. Ranges that end before they start are left out, and a domain registered by two threads of a process
-- counts once, unlike in nsys. Newer nsys prints a colon before names of the default domain (`:forward`); this follows
-- the exporting version (schema after 3.7).
-- needs: range
-- includes: nsys
-- selects: part
-- column: Time (%) | % | .1f | share of the sum of the listed totals
-- column: Total Time (ns) | ns | | sum of durations
-- column: Instances | count | | number of instances
-- column: Avg (ns) | ns | .1f | mean duration
-- column: Med (ns) | ns | .1f | median duration
-- column: Min (ns) | ns | | shortest duration
-- column: Max (ns) | ns | | longest duration
-- column: StdDev (ns) | ns | .1f | sample standard deviation (n - 1), 0 for a single launch
-- column: Range | text | | domain:name, or the name alone
SELECT nsys_round(total * 1e2 / sum(total) OVER ()) AS "Time (%)", total AS "Total Time (ns)", num AS "Instances",
    nsys_round(mean) AS "Avg (ns)", nsys_round(med) AS "Med (ns)", low AS "Min (ns)", high AS "Max (ns)",
    nsys_round(dev) AS "StdDev (ns)", name AS "Range"
FROM selected_range_sum WHERE style = 'StartEnd'
ORDER BY total DESC, name;
