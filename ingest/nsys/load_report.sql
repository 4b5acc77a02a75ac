-- The row of the report itself, from an nsys export (the catalog "src") and what load.sql took of it.
INSERT INTO report BY NAME
SELECT 'nsys' AS kind, 'Nsight Systems' AS tool,
    (SELECT cut(any_value(value), 1000) FROM src.META_DATA_EXPORT
        WHERE name = 'EXPORT_SCHEMA_VERSION') AS export_schema_version,
    (SELECT make_timestamp_ns(min("utcEpochNs")) FROM src.TARGET_INFO_SESSION_START_TIME) AS captured_at,
    (SELECT min("startTime") FROM src.ANALYSIS_DETAILS) AS start_ns,
    (SELECT max("stopTime") FROM src.ANALYSIS_DETAILS) AS stop_ns,
    (SELECT max(duration) FROM src.ANALYSIS_DETAILS) AS duration_ns,
    (SELECT cut(string_agg(cut(value, 10000), ' ' ORDER BY name NOT LIKE '%:COMMAND',
            TRY_CAST(regexp_extract(name, 'ARGUMENT_(\d+)$', 1) AS INTEGER)), 10000)
        FROM capture_setting WHERE regexp_full_match(name, 'PROCESS_0:(COMMAND|ARGUMENT_\d+)')) AS command,
    (SELECT cut(any_value(value), 1000) FROM system_info
        WHERE name = 'NvDriverVersion' AND value <> '0') AS driver_version,
    (SELECT any_value((version // 1000) || '.' || (version % 1000 // 10))
        FROM (SELECT TRY_CAST(value AS INTEGER) AS version FROM system_info WHERE name = 'CudaDriverVersion')
        WHERE version > 0) AS cuda_version,
    (SELECT cut(any_value(value), 1000) FROM system_info WHERE name = 'OsDescription') AS os,
    (SELECT cut(any_value(value), 1000) FROM system_info WHERE name = 'CpuDescription') AS cpu;
