-- Start and end of the trace, and the numbers of its threads, processes and texts.

-- A damaged digit moves an event by years: a time more than 52 days from the middle event is impossible.
CREATE OR REPLACE TEMP TABLE session AS
WITH event AS (
    SELECT start_ns, end_ns FROM trace_range UNION ALL SELECT start_ns, end_ns FROM trace_call
    UNION ALL SELECT start_ns, end_ns FROM trace_operation UNION ALL SELECT start_ns, end_ns FROM trace_python
), middle AS (SELECT median(start_ns)::BIGINT AS middle_ns FROM event), near AS (
    SELECT start_ns, end_ns FROM (FROM event UNION ALL SELECT start_ns, NULL FROM trace_frame) CROSS JOIN middle
    WHERE abs(start_ns - middle_ns) < 4503599627370496
)
SELECT min(start_ns) AS begin_ns, max(end_ns) FILTER (end_ns - start_ns < 4503599627370496) AS end_ns,
    bool_and(start_ns % 1000 = 0) AS whole_us
FROM near;

-- A trace time on the report's clock, which starts with the trace.
CREATE OR REPLACE TEMP MACRO on_clock(t) AS
CASE WHEN t - getvariable('trace_begin') BETWEEN 0 AND 9007199254740992 THEN t - getvariable('trace_begin') END;

-- Process and thread numbers that fit into 23 bits stay; others, such as addresses used as thread ids in traces of
-- 2021, get numbers above these.
CREATE OR REPLACE TEMP TABLE thread_of AS
WITH part AS (
    SELECT DISTINCT thread, pid, tid, TRY_CAST(pid AS BIGINT) AS p, TRY_CAST(tid AS BIGINT) AS t FROM trace_thread
), numbered AS (
    SELECT *, coalesce(p BETWEEN 0 AND 8388607, false) AS plain_pid, coalesce(t BETWEEN 0 AND 8388607, false) AS plain,
        dense_rank() OVER (ORDER BY pid) AS p_rank, dense_rank() OVER (PARTITION BY pid ORDER BY tid) AS t_rank
    FROM part
)
SELECT thread, pid, tid, plain AS plain_tid,
    (CASE WHEN plain_pid THEN p ELSE 8388608 + p_rank % 8388608 END) * 16777216 AS global_pid,
    global_pid + CASE WHEN plain THEN t ELSE 8388608 + t_rank % 8388608 END AS global_tid
FROM numbered QUALIFY row_number() OVER (PARTITION BY thread ORDER BY pid, tid) = 1;

-- Texts that look like tokens or passwords are removed, as in all reports.
CREATE OR REPLACE TEMP TABLE text_of AS
SELECT id, row_number() OVER (ORDER BY id) AS string_id, clean(text) AS text
FROM (SELECT id, any_value(text) AS text FROM trace_text GROUP BY id);
DROP TABLE temp.trace_text;

-- Names of ranges, and of marks (rank 4).
CREATE OR REPLACE TEMP TABLE name_of AS
SELECT row_number() OVER (ORDER BY used.rank, used.name, used.domain)::INTEGER AS name_id, used.name, used.domain,
    used.rank, name.text AS text,
    CASE used.rank WHEN 3 THEN 'operator' WHEN 2 THEN 'module' WHEN 1 THEN cut(domain.text, 200) END AS domain_text
FROM (
    SELECT DISTINCT name, domain, rank FROM trace_range UNION SELECT DISTINCT name, NULL, 4 FROM trace_mark
) AS used
JOIN text_of AS name ON name.id = used.name LEFT JOIN text_of AS domain ON domain.id = used.domain;
