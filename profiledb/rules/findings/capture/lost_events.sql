-- title: Profiler errors
-- question: Did the profiler lose events, collect less than requested, or write unusable rows?
-- The number of errors of the profiler or the conversion, plus exported rows with impossible times, which no table
-- contains. Shares, sums and gaps may be wrong if events are missing. The remedy is the first instruction that an error
-- contains. Errors about lost, dropped or overflowing data call for a shorter capture. If the kernel's
-- `perf_event_paranoid` forbids CPU samples and all errors are about those, or if nsys warns that it failed to process
-- events, the rule says so in its own words. The selection does not matter.
-- needs: kernel or memop or graph_launch or api_call or range
-- includes: selection
-- unit: count
-- fires: above
-- weight: warning
-- param: threshold = 1 fires at or above this number of errors and rows
-- column: errors | count | | errors of the profiler or the conversion
-- column: rejected | count | | rows left out
-- column: first_text | name | | text of the first error, or the reason why rows were left out
-- column: remedy | name | | instruction in an error
-- column: command | name | | command in an error
-- column: paranoid | id | | value of `perf_event_paranoid`, if it is the cause of all errors
-- column: failed | count | | messages that nsys failed to process events, if these are all errors
-- says: nsys failed to process some of the events that it recorded ({failed} {failed|message|messages}): the report lacks part of what ran.
-- says: CPU samples and thread switches are missing: the profiler may not record them while `perf_event_paranoid` is {paranoid}.
-- says: The profiler reports {errors} {errors|error|errors}, the first: {first_text} It advises: {remedy} with {command}.
-- says: The profiler reports {errors} {errors|error|errors}, the first: {first_text} It advises: {remedy}
-- says: The profiler reports {errors} {errors|error|errors}, the first: {first_text} It advises {command}.
-- says: The report has {errors} {errors|error|errors} and {rejected} {rejected|row|rows} that could not be used. The first: {first_text}
-- says: The report has {errors} {errors|error|errors}. The first: {first_text}
-- says: {rejected} {rejected|row|rows} of the export could not be used. The first: {first_text}
-- clear: No errors and no unusable rows.
-- advice: [lost] Capture a shorter part (`--capture-range`, `--duration`) or trace less. Large buffers need free disk space in the report's folder. Let the program end before nsys stops.
-- advice: [paranoid] To record them, too: `sudo sh -c 'echo 2 >/proc/sys/kernel/perf_event_paranoid'`, then capture again.
-- advice: [failed] Capture again with another version of nsys: this is a fault of nsys, not of the program.
-- advice: [other] Fix what the profiler's message names, then capture again.
-- source: nsys diagnostics; counts: ours
SELECT 0 AS value, NULL AS errors, NULL AS rejected, NULL AS first_text, NULL AS remedy, NULL AS command,
    NULL AS paranoid, NULL AS failed, 'lost' AS cause, NULL AS evidence
FROM rejected_row HAVING count(*) = 0 AND NOT EXISTS (
    FROM diagnostic WHERE severity = 'error' OR tells_lost_events(text)
);

WITH error AS (
    SELECT text, source, time_ns, tells_lost_events(text) AS failed
    FROM diagnostic WHERE severity = 'error' OR tells_lost_events(text)
), paranoid AS (  -- nsys says it twice, once with the value
    SELECT max(regexp_extract(text, 'perf event paranoid level is (\d+)', 1)) AS level FROM error
    HAVING bool_and(regexp_matches(text, 'CPU IP/backtrace sampl|context switch data'))
), advised AS (  -- the first instruction, and a command
    SELECT time_ns, nullif(trim(regexp_extract(text, '(?:^|[.!\n])\s*((?:Change|Try (?:the|to)|Use|Set|Run|Enable|Add'
                || '|Install|Increase|Reduce|Check|Consider|Please|Make sure|To (?:fix|enable))\b[^\n]*?)'
                || '(?:[.]\s|[.]?$|\n)', 1)), '') AS remedy,
        nullif(regexp_extract(text, '(?m)^((?:sudo|nsys|sysctl|modprobe|echo) .*)$', 1), '') AS command
    FROM error
), rejected AS (SELECT source, reason, count(*) AS times FROM rejected_row GROUP BY source, reason
), total AS (
    SELECT (SELECT count(*) FROM error) AS errors, (SELECT coalesce(sum(times), 0)::BIGINT FROM rejected) AS rejected
), shown AS (
    SELECT {'name': what, 'note': source, 'count': times} AS piece, place
    FROM (
        SELECT text AS what, source, count(*) AS times, 1 AS place FROM error GROUP BY text, source
        UNION ALL SELECT reason, source, times, 2 FROM rejected
    ) ORDER BY place, times DESC, what LIMIT 10
)
SELECT errors + rejected AS value, nullif(errors, 0) AS errors, nullif(rejected, 0) AS rejected,
    coalesce((SELECT text FROM error ORDER BY time_ns NULLS LAST, text LIMIT 1),
        (SELECT concat_ws(': ', source, reason) FROM rejected ORDER BY times DESC, source, reason LIMIT 1))
        AS first_text,
    (SELECT remedy FROM advised WHERE remedy IS NOT NULL ORDER BY time_ns NULLS LAST, remedy LIMIT 1) AS remedy,
    (SELECT command FROM advised WHERE command IS NOT NULL ORDER BY time_ns NULLS LAST, command LIMIT 1) AS command,
    CASE WHEN total.rejected = 0 THEN nullif(level, '') END AS paranoid,
    CASE WHEN total.rejected = 0 AND (SELECT bool_and(failed) FROM error) THEN total.errors END AS failed,
    CASE WHEN total.rejected = 0 AND (SELECT bool_and(failed) FROM error) THEN 'failed'
        WHEN level <> '' AND total.rejected = 0 THEN 'paranoid' WHEN errors = 0 OR EXISTS (
                FROM error
                WHERE regexp_matches(text, '(?i)\b(lost|los[es]|dropped|overflow\w*|exceed\w*|truncated|buffers?)\b')
            ) THEN 'lost' ELSE 'other' END AS cause,
    (SELECT list(piece ORDER BY place, piece.count DESC, piece.name) FROM shown) AS evidence
FROM total LEFT JOIN paranoid ON true;
