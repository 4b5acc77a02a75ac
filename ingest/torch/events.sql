-- Tables that take.sql fills from the events of a trace, by kind. Times are ns on the trace's own clock; threads and
-- texts are numbers in `trace_thread` and `trace_text`; `number` is the position of an event in the trace, from 1.
CREATE OR REPLACE TEMP MACRO text_id(t) AS CASE WHEN t IS NOT NULL THEN hash(t) END;
CREATE OR REPLACE TEMP MACRO thread_id(p, t) AS hash(coalesce(p, ''), coalesce(t, ''));

-- Decimal microseconds, as text, in ns. Digits are moved, not multiplied: a cast to 128 bits takes 40 us.
CREATE OR REPLACE TEMP MACRO ns_of(t) AS CASE
    WHEN regexp_full_match(t, '\d{1,16}\.\d{3}') THEN TRY_CAST(replace(t, '.', '') AS BIGINT)
    WHEN regexp_full_match(t, '\d{1,16}') THEN TRY_CAST(t || '000' AS BIGINT)
    WHEN regexp_full_match(t, '\d{1,15}\.\d+|1\d{15}\.\d+') THEN TRY_CAST(split_part(t, '.', 1) || '000' AS BIGINT)
        + (rpad(split_part(t, '.', 2)[:4], 4, '0')::INTEGER + 5) // 10
END;

-- An event time in ns, from its presumed text and the parser's number: only the text has exact microseconds since 1970
-- with decimals. If the two differ, the text belongs to another key or has an exponent. NULL if it cannot be a time.
CREATE OR REPLACE TEMP MACRO time_of(t, parsed) AS CASE
    WHEN NOT parsed BETWEEN 0 AND 2305843009213693 THEN NULL
    WHEN TRY_CAST(t AS DOUBLE) = parsed AND ns_of(t) IS NOT NULL THEN ns_of(t)
    ELSE round(parsed * 1000)::BIGINT
END;

-- A memory size, bounded so that sums fit into 64 bits.
CREATE OR REPLACE TEMP MACRO size_of(b) AS CASE WHEN b BETWEEN -140737488355328 AND 140737488355328 THEN b END;

CREATE OR REPLACE TEMP TABLE trace_text (id UBIGINT, text VARCHAR);
-- Texts that need not be stored again; events.py empties the table if it gets large.
CREATE OR REPLACE TEMP VIEW known_text AS FROM trace_text;
CREATE OR REPLACE TEMP TABLE trace_thread (thread UBIGINT, pid VARCHAR, tid VARCHAR);
CREATE OR REPLACE TEMP TABLE trace_name (kind VARCHAR, pid VARCHAR, tid VARCHAR, name VARCHAR);
CREATE OR REPLACE TEMP TABLE trace_other (kind VARCHAR, n BIGINT);
CREATE OR REPLACE TEMP TABLE trace_frame (start_ns BIGINT, end_ns BIGINT);

-- rank: among ranges with equal edges, a smaller rank encloses the others
CREATE OR REPLACE TEMP TABLE trace_range (
    number BIGINT, rank UTINYINT, start_ns BIGINT, end_ns BIGINT, thread UBIGINT, name UBIGINT, domain UBIGINT,
    external_id BIGINT
);
CREATE OR REPLACE TEMP TABLE trace_operator (
    number BIGINT, external_id BIGINT, event_index BIGINT, sequence_number BIGINT, forward_thread BIGINT, dims UBIGINT,
    types UBIGINT, strides UBIGINT, "values" UBIGINT, flops BIGINT, stack UBIGINT, backend UBIGINT, kernel_hash UBIGINT
);
CREATE OR REPLACE TEMP TABLE trace_python (
    number BIGINT, start_ns BIGINT, end_ns BIGINT, thread UBIGINT, name UBIGINT, python_id BIGINT, parent_id BIGINT,
    module_id BIGINT, is_module BOOLEAN
);
CREATE OR REPLACE TEMP TABLE trace_call (
    number BIGINT, start_ns BIGINT, end_ns BIGINT, thread UBIGINT, name UBIGINT, correlation_id BIGINT,
    is_driver BOOLEAN
);
CREATE OR REPLACE TEMP TABLE trace_operation (
    number BIGINT, kind VARCHAR, start_ns BIGINT, end_ns BIGINT, name UBIGINT, device_id INTEGER, context_id BIGINT,
    stream_id BIGINT, correlation_id BIGINT, bytes BIGINT, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER,
    block_x INTEGER, block_y INTEGER, block_z INTEGER, registers INTEGER, shared_bytes BIGINT, blocks_per_sm DOUBLE,
    warps_per_sm DOUBLE, occupancy_pct DOUBLE, graph_id BIGINT, graph_node_id BIGINT,
    sync_kind VARCHAR, event_id BIGINT, counters MAP (VARCHAR, DOUBLE)
);
CREATE OR REPLACE TEMP TABLE trace_overhead (
    start_ns BIGINT, end_ns BIGINT, thread UBIGINT, name UBIGINT
);
CREATE OR REPLACE TEMP TABLE trace_mark (number BIGINT, time_ns BIGINT, thread UBIGINT, name UBIGINT);
CREATE OR REPLACE TEMP TABLE trace_memory (
    number BIGINT, time_ns BIGINT, thread UBIGINT, kind VARCHAR, device_type INTEGER, device_id INTEGER,
    address UBIGINT, bytes BIGINT, allocated_bytes BIGINT, reserved_bytes BIGINT
);
CREATE OR REPLACE TEMP TABLE trace_collective (
    number BIGINT, is_kernel BOOLEAN, name VARCHAR, process_group VARCHAR, description VARCHAR, ranks VARCHAR,
    group_size BIGINT, sequence_number BIGINT, communicator BIGINT, dtype VARCHAR, in_elements BIGINT,
    out_elements BIGINT, in_split VARCHAR, out_split VARCHAR, src_rank INTEGER, dst_rank INTEGER
);
CREATE OR REPLACE TEMP TABLE trace_flow (id VARCHAR, is_backward BOOLEAN, thread UBIGINT, time_ns BIGINT);
