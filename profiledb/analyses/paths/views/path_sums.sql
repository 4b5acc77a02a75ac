-- Sums by call path with all paths below each: a path's numbers run to its last_id, so sums are differences of running
-- ones. Figures that no path below has are NULL.
-- Reports made before this table existed have no rows.
CREATE OR REPLACE VIEW path_sum AS
SELECT NULL::BIGINT AS path_id, NULL::BIGINT AS last_id, NULL::BIGINT AS parent_id, NULL::INTEGER AS level,
    NULL::VARCHAR AS name, NULL::INTEGER AS name_id, NULL::VARCHAR AS device_type, NULL::INTEGER AS device_id,
    NULL::BIGINT AS calls, NULL::BIGINT AS total_ns, NULL::DOUBLE AS flops, NULL::DOUBLE AS bytes,
    NULL::VARCHAR AS metrics_json WHERE false;
