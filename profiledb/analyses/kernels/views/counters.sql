-- Performance counters of kernels. Reports made before these tables existed have no rows.
CREATE OR REPLACE VIEW counter AS
SELECT NULL::INTEGER AS counter_id, NULL::VARCHAR AS name, NULL::VARCHAR AS unit, NULL::VARCHAR AS description
WHERE false;

CREATE OR REPLACE VIEW counter_value AS
SELECT NULL::BIGINT AS kernel_id, NULL::INTEGER AS counter_id, NULL::DOUBLE AS value WHERE false;
