-- title: OS runtime calls by thread
-- Durations of calls into the OS libraries by thread and function, longest total first. Nested calls count in both
-- rows. `waits` marks functions whose purpose is waiting: for a lock, for data, for time to pass.
-- page: host
-- show: thread 130, name 170, function 240, total_ns, thread_pct bar 110, calls, max_ns
-- prefetch: part
-- needs: osrt_call
-- includes: selection, host
-- selects: part
-- param: limit = 100 at most this many rows
-- column: thread | text | | process and thread id
-- column: name | text | | name of the thread, if any
-- column: function | text | | name of the function
-- column: waits | bool | | whether the function's purpose is waiting
-- column: total_ns | ns | | sum of durations
-- column: thread_pct = Of thread | % | .1f | share of the sum over all functions of the thread
-- column: calls | count | | number of calls
-- column: max_ns | ns | | longest duration
WITH summary AS (
    SELECT global_tid, name_id, sum(end_ns - start_ns)::BIGINT AS total_ns, count(*) AS calls,
        max(end_ns - start_ns) AS max_ns
    FROM selected_osrt_call WHERE event_class = 27 GROUP BY ALL
)
SELECT thread_label(global_tid) AS thread, name, value AS function, coalesce(regexp_matches(
        value, '(?i)wait|sleep|poll|select|mutex_(timed)?lock|futex|join|barrier|accept|recv|^p?read|fgets|pause|yield'
    ), false) AS waits, total_ns,
    100.0 * total_ns / nullif(sum(total_ns) OVER (PARTITION BY global_tid), 0) AS thread_pct, calls, max_ns
FROM summary LEFT JOIN string ON string_id = name_id LEFT JOIN host_thread USING (global_tid)
ORDER BY total_ns DESC, thread, function, name_id LIMIT $limit::BIGINT;
