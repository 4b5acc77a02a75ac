-- title: Source lines that launch a kernel
-- One row per line of the program that launched the kernel, most kernel time first: of the Python back trace that
-- nsys took at the launch (--python-backtrace=cuda) the innermost frame that is not of an installed package or of
-- Python's library. It is the line of the call, not that where its function begins.
-- page: kernel
-- show: line 520, calls, share_pct bar 110, total_ns
-- needs: kernel
-- needs: python_sample
-- includes: selection, cpu_code
-- selects: part
-- param: kernel =  number of the kernel (analysis kernels), or its full name
-- param: limit = 20 at most this many rows
-- column: line = Line of the call | text | | file, line and function
-- column: calls = Launches | count | | number of launches
-- column: total_ns | ns | | sum of their durations
-- column: share_pct | % | .1f | share of the time of the kernel
WITH launch AS MATERIALIZED (
    SELECT api_call.start_ns AS time_ns, api_call.global_tid, count(*) AS calls,
        sum(kernel.end_ns - kernel.start_ns) AS ns
    FROM selected_kernel AS kernel LEFT JOIN api_call USING (call_id)
    WHERE kernel.name_id IN (FROM kernel_ids($kernel)) GROUP BY ALL
), traced AS (
    SELECT time_ns, global_tid, any_value(stack_id) AS stack_id FROM python_sample
    WHERE kind = 'cuda' GROUP BY time_ns, global_tid
), stack AS (
    SELECT stack_id, arg_min(format('{}({}): {}', module_file(file), line, "function"), depth) AS line
    FROM python_frame
    WHERE line IS NOT NULL AND NOT regexp_matches(file, '(site|dist)-packages/|/lib(64)?/python\d|^<')
    GROUP BY stack_id
), total AS (
    SELECT stack.line, sum(calls)::BIGINT AS calls, sum(ns)::BIGINT AS total_ns, sum(sum(ns)) OVER () AS all_ns
    FROM launch LEFT JOIN traced USING (time_ns, global_tid) LEFT JOIN stack USING (stack_id) GROUP BY stack.line
)
SELECT line, calls, total_ns, 100.0 * total_ns / nullif(all_ns, 0) AS share_pct
FROM total WHERE line IS NOT NULL
ORDER BY total_ns DESC, line
LIMIT $limit::BIGINT;
