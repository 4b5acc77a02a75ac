-- Snapshot tables that are not derived from anything else (load.sql); written together with derived tables.
INSERT INTO tensor_event BY NAME
SELECT row_number() OVER (ORDER BY rank, device, number) AS event_id, time_ns, 0 AS global_tid, kind, 1 AS device_type,
    device AS device_id, address, bytes, allocated_bytes, reserved_bytes, stack_id
FROM tensor_row;

INSERT INTO tensor_segment BY NAME SELECT * EXCLUDE (device), device AS device_id FROM snapshot_segment;

INSERT INTO tensor_block BY NAME SELECT * EXCLUDE (device) FROM snapshot_block;

INSERT INTO python_frame BY NAME FROM snapshot_frame;
