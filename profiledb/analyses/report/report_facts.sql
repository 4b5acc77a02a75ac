-- title: Facts of a report
-- One row: content, time, profiler and machine of the capture. Unknown values are empty.
-- page: summary
-- prefetch: part
-- column: kind | text | | nsys or ncu
-- column: tool | text | | profiler of the capture
-- column: tool_version | text | | version of the profiler
-- column: converter | text | | reader of the file: program, version and format
-- column: captured_at | text | | start of the session, UTC
-- column: session_ns | ns | | start of the session since 1970, to a microsecond
-- column: duration_ns | ns | | length of the capture, as stated by the profiler
-- column: command | text | | profiled program, with its arguments
-- column: gpus | count | | number of GPUs in the machine
-- column: gpu_names | text | | product names of the GPUs, each once
-- column: gpu_list | text | | product names, each with its number of GPUs, and how many of all worked if not each did
-- column: driver_version | text | | version of the NVIDIA driver: 45010204 in older reports is 450.102.04
-- column: cuda_version | text | | CUDA version that the driver supports
-- column: os | text | | operating system
-- column: cpu | text | | processor
-- column: processes | count | | number of recorded processes
SELECT kind, tool, tool_version, converter, strftime(captured_at, '%Y-%m-%dT%H:%M:%S') AS captured_at,
    epoch_ns(captured_at) AS session_ns, duration_ns,
    command, gpus, gpu_names,
    gpu_list || IF(used.n BETWEEN 1 AND gpus - 1, ' (' || used.n || ' in use)', '') AS gpu_list,
    regexp_replace(
        regexp_replace(driver_version, '^(\d{3})(\d{2})$', '\1.\2'), '^(\d{3})(\d{2,3})(\d{2})$', '\1.\2.\3'
    ) AS driver_version, cuda_version, os, cpu, processes
FROM report CROSS JOIN (
    SELECT nullif(sum(n), 0)::BIGINT AS gpus, string_agg(name, ', ' ORDER BY name) AS gpu_names,
        string_agg(n || coalesce(' × ' || name, IF(n = 1, ' GPU', ' GPUs') || ' of unknown model'), ', '
            ORDER BY n DESC, name) AS gpu_list
    FROM (SELECT nullif(name, '') AS name, count(*) AS n FROM gpu GROUP BY ALL)
) CROSS JOIN (SELECT count(DISTINCT device_id) AS n FROM busy) AS used
CROSS JOIN (SELECT nullif(count(*), 0) AS processes FROM process);
