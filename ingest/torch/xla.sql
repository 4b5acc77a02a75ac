-- Operations of a trace that XLA wrote: what ran on the streams of the processes /device:GPU:N. The other lines of
-- these processes (XLA Ops, XLA Modules, Steps ...) say the same again and are left out.
CREATE OR REPLACE TEMP TABLE xla_line AS
SELECT thread, TRY_CAST(regexp_extract(process.name, '^/device:GPU:(\d+)', 1) AS INTEGER) AS device_id,
    TRY_CAST(nullif(regexp_extract(line.name, '^Stream #(\d+)', 1), '') AS BIGINT) AS stream_id
FROM trace_thread JOIN trace_name AS process ON process.kind = 'process_name' AND process.pid = trace_thread.pid
LEFT JOIN trace_name AS line
    ON line.kind = 'thread_name' AND line.pid = trace_thread.pid AND line.tid = trace_thread.tid
WHERE regexp_matches(process.name, '^/device:GPU:\d+')
QUALIFY row_number() OVER (PARTITION BY thread ORDER BY stream_id) = 1;

INSERT INTO trace_operation BY NAME
SELECT number, CASE WHEN starts_with(lower(text), 'memcpy') THEN 'memcpy'
        WHEN starts_with(lower(text), 'memset') THEN 'memset' ELSE 'kernel' END AS kind,
    start_ns, end_ns, name, device_id, stream_id
FROM trace_range JOIN xla_line USING (thread) JOIN (SELECT DISTINCT id, text FROM trace_text) ON id = name
WHERE stream_id IS NOT NULL;

DELETE FROM trace_range WHERE thread IN (SELECT thread FROM xla_line);
DELETE FROM trace_thread WHERE thread IN (SELECT thread FROM xla_line);
DROP TABLE temp.xla_line;
