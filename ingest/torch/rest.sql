-- Trace tables that are not derived from anything else; written together with derived tables.
INSERT INTO string SELECT string_id, text FROM text_of WHERE id IN (
    SELECT name FROM numbered_call UNION SELECT name FROM trace_overhead UNION SELECT name FROM trace_python
    UNION SELECT dims FROM trace_operator UNION SELECT types FROM trace_operator
    UNION SELECT strides FROM trace_operator UNION SELECT "values" FROM trace_operator
    UNION SELECT stack FROM trace_operator
    UNION SELECT backend FROM trace_operator UNION SELECT kernel_hash FROM trace_operator
);

INSERT INTO process BY NAME
SELECT global_pid, global_pid // 16777216 AS pid, cut(clean(any_value(trace_name.name)), 200) AS name
FROM thread_of LEFT JOIN trace_name ON trace_name.pid = thread_of.pid AND trace_name.kind = 'process_name'
GROUP BY global_pid;

-- If names are many, each is short.
INSERT INTO kernel_name BY NAME
SELECT name_id, cut(text, most) AS demangled, short_name(cut(text, most)) AS short
FROM kernel_of CROSS JOIN (SELECT greatest(256, 16_000_000 // count(*)) AS most FROM kernel_of)
JOIN text_of ON text_of.id = kernel_of.name;

INSERT INTO launch_estimate BY NAME
SELECT id AS kernel_id, CASE WHEN isfinite(blocks_per_sm) THEN blocks_per_sm END AS blocks_per_sm,
    CASE WHEN isfinite(warps_per_sm) THEN warps_per_sm END AS warps_per_sm,
    CASE WHEN isfinite(occupancy_pct) THEN nullif(occupancy_pct, 0) END AS occupancy_pct, shared_bytes
FROM numbered_operation
WHERE kind = 'kernel' AND (blocks_per_sm IS NOT NULL OR warps_per_sm IS NOT NULL OR shared_bytes IS NOT NULL);

CREATE OR REPLACE TEMP TABLE kernel_counter AS
SELECT id AS kernel_id, cut(clean(entry.key), 200) AS name, entry.value
FROM (SELECT id, unnest(map_entries(counters)) AS entry FROM numbered_operation WHERE kind = 'kernel');

INSERT INTO counter BY NAME
SELECT row_number() OVER (ORDER BY name)::INTEGER AS counter_id, name FROM kernel_counter
WHERE isfinite(value) GROUP BY name;

INSERT INTO counter_value BY NAME
SELECT kernel_id, counter_id, value FROM kernel_counter JOIN counter USING (name) WHERE isfinite(value);
DROP TABLE temp.kernel_counter;

INSERT INTO sync BY NAME
SELECT id AS sync_id, on_clock(start_ns) AS start_ns, on_clock(end_ns) AS end_ns, device_id, context_id,
    CASE WHEN stream_id >= 0 THEN stream_id END AS stream_id, correlation_id, global_pid,
    CASE WHEN sync_kind ILIKE 'event%sync%' THEN 1 WHEN sync_kind ILIKE 'stream wait%' THEN 2
        WHEN sync_kind ILIKE 'stream sync%' THEN 3 WHEN sync_kind ILIKE 'context sync%' THEN 4 END AS sync_type,
    CASE WHEN event_id >= 0 THEN event_id END AS event_id
FROM placed WHERE kind = 'sync';

INSERT INTO profiler_overhead BY NAME
SELECT on_clock(start_ns) AS start_ns, on_clock(end_ns) AS end_ns, global_tid, string_id AS name_id
FROM trace_overhead LEFT JOIN thread_of USING (thread) LEFT JOIN text_of ON text_of.id = trace_overhead.name;

INSERT INTO mark BY NAME
SELECT number AS mark_id, on_clock(time_ns) AS time_ns, name_id, global_tid
FROM trace_mark JOIN thread_of USING (thread) JOIN name_of ON name_of.name = trace_mark.name AND rank = 4;

INSERT INTO python_call BY NAME
SELECT python_id, parent_id, on_clock(start_ns) AS start_ns, on_clock(end_ns) AS end_ns, global_tid,
    string_id AS name_id
FROM trace_python JOIN thread_of USING (thread) LEFT JOIN text_of ON text_of.id = trace_python.name;

INSERT INTO module_call BY NAME
SELECT range_id, regexp_replace(regexp_replace(text, '^nn\.Module: ', ''), '_\d+$', '') AS class, module_id, python_id
FROM trace_python JOIN numbered_range USING (number) JOIN text_of ON text_of.id = trace_python.name
WHERE is_module;

INSERT INTO tensor_event BY NAME
SELECT number AS event_id, on_clock(time_ns) AS time_ns, global_tid, kind, device_type,
    CASE WHEN device_type > 0 THEN device_id END AS device_id, address, bytes, allocated_bytes, reserved_bytes
FROM trace_memory JOIN thread_of USING (thread);

INSERT INTO collective BY NAME
SELECT range_id, CASE WHEN is_kernel THEN id END AS kernel_id, trace_collective.* EXCLUDE (number, is_kernel) REPLACE (
        clean(trace_collective.name) AS name, clean(process_group) AS process_group, clean(description) AS description,
        clean(ranks) AS ranks, clean(dtype) AS dtype, clean(in_split) AS in_split, clean(out_split) AS out_split
    )
FROM trace_collective LEFT JOIN numbered_range USING (number)
LEFT JOIN (SELECT number, id FROM numbered_operation WHERE kind = 'kernel') USING (number);
