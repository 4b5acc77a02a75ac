-- title: Facts of a report
-- A single row: what was captured, when, with what and on which machine. What the report does not tell is empty.
-- page: summary
-- prefetch: part
-- column: kind | text | | nsys or ncu
-- column: tool | text | | profiler that captured
-- column: tool_version | text | | its version
-- column: converter | text | | what read the file: program, version and format
-- column: captured_at | text | | start of the session, UTC
-- column: duration_ns | ns | | length of the capture as the profiler states it
-- column: command | text | | program that was profiled, with its arguments
-- column: gpus | count | | GPUs of the machine
-- column: gpu_names | text | | their product names, each once
-- column: gpu_list | text | | the same, each with how many of it there are
-- column: driver_version | text | | version of the NVIDIA driver: what older reports have as 45010204 is 450.102.04
-- column: cuda_version | text | | CUDA version that the driver supports
-- column: os | text | | operating system
-- column: cpu | text | | processor
-- column: processes | count | | processes that were seen
SELECT kind, tool, tool_version, converter, strftime(captured_at, '%Y-%m-%dT%H:%M:%S') AS captured_at, duration_ns,
    command, (SELECT nullif(count(*), 0) FROM gpu) AS gpus,
    (SELECT string_agg(DISTINCT name, ', ' ORDER BY name) FROM gpu WHERE name <> '') AS gpu_names,
    (
        SELECT string_agg(n || ' × ' || name, ', ' ORDER BY n DESC, name)
        FROM (SELECT coalesce(nullif(name, ''), 'unknown model') AS name, count(*) AS n FROM gpu GROUP BY ALL)
    ) AS gpu_list,
    regexp_replace(
        regexp_replace(driver_version, '^(\d{3})(\d{2})$', '\1.\2'), '^(\d{3})(\d{2,3})(\d{2})$', '\1.\2.\3'
    ) AS driver_version, cuda_version, os, cpu,
    (SELECT nullif(count(*), 0) FROM process) AS processes
FROM report;
