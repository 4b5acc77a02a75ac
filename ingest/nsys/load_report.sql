-- The row of the report itself, from an nsys export (catalog "src") and the rows that load.sql imported.
INSERT INTO report BY NAME
SELECT 'nsys' AS kind, 'Nsight Systems' AS tool, *
FROM (
    SELECT cut(any_value(value) FILTER (name = 'EXPORT_SCHEMA_VERSION'), 1000) AS export_schema_version
    FROM src.META_DATA_EXPORT
), (
    SELECT make_timestamp_ns(min("utcEpochNs")) AS captured_at FROM src.TARGET_INFO_SESSION_START_TIME
), (
    SELECT min("startTime") AS start_ns, max("stopTime") AS stop_ns, max(duration) AS duration_ns
    FROM src.ANALYSIS_DETAILS
), (
    -- The shell in which `warpdeck profile` starts the program (warpdeck/profiling/child.py) is left out.
    SELECT cut(array_to_string(IF(list_extract(words, 2) = '-c' AND regexp_matches(list_extract(words, 3),
        '^(exec|trap : INT TERM HUP;) "[$]@" ?[>;]'), words[5:], words), ' '), 10000) AS command
    FROM (
        SELECT list(cut(value, 10000) ORDER BY name NOT LIKE '%:COMMAND',
            TRY_CAST(regexp_extract(name, 'ARGUMENT_(\d+)$', 1) AS INTEGER)) AS words
        FROM capture_setting WHERE regexp_full_match(name, 'PROCESS_0:(COMMAND|ARGUMENT_\d+)')
    )
), (
    SELECT cut(any_value(value) FILTER (name = 'NvDriverVersion' AND value <> '0'), 1000) AS driver_version,
        any_value((version // 1000) || '.' || (version % 1000 // 10))
            FILTER (name = 'CudaDriverVersion' AND version > 0) AS cuda_version,
        cut(any_value(value) FILTER (name = 'OsDescription'), 1000) AS os,
        cut(any_value(value) FILTER (name = 'CpuDescription'), 1000) AS cpu
    FROM (SELECT name, value, TRY_CAST(value AS INTEGER) AS version FROM system_info)
);
