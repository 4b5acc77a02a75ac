-- title: Where GPU work is launched
-- The back traces of CUDA calls by the place in the program: the innermost Python frame outside installed packages, else
-- the innermost Python frame, else the innermost frame that tells of the program. With the work that these calls
-- launched. Only calls with a back trace are in here: nsys takes them of calls that last longer than a threshold.
-- needs: api_call
-- includes: selection, host, memory
-- selects: part
-- param: limit = 100 how many rows at most
-- column: site = Place | text | | function of the program that made the calls
-- column: module | text | | its file
-- column: inner = Through | text | | innermost frame that tells of the program, of most of these calls
-- column: function = CUDA function | text | | function that was called the most
-- column: calls | count | | CUDA calls with a back trace from there
-- column: cuda_ns = CUDA time | ns | | sum of their durations
-- column: operations | count | | kernels, copies and memory sets that these calls launched
-- column: gpu_ns = GPU time | ns | | sum of their durations on the GPU
WITH traced AS MATERIALIZED (
    SELECT call_id, callchain_id, name_id, end_ns - start_ns AS ns FROM selected_api_call
    WHERE callchain_id IN (SELECT callchain_id FROM callchain WHERE kind = 'cuda')
), frame AS (
    SELECT callchain_id, depth, function, module, CASE
            WHEN regexp_matches(path, '\.pyx?$') OR regexp_matches(function, '\.py(:|$)')
                THEN CASE WHEN regexp_matches(path, '(site|dist)-packages|/lib(64)?/python\d|<frozen') THEN 3 ELSE 4 END
            WHEN regexp_matches(module, '^lib(cuda|cudart|cupti|nv|ToolsInjection|pthread|c\.|torch|c10)') THEN 0
            ELSE frame_rank(function, module) END AS rank
    FROM host_frame('cuda')
), place AS (
    SELECT callchain_id, arg_max({site: function, module: module}, (rank, -depth, function)) FILTER (rank > 0) AS told,
        arg_min(function, (depth, function)) FILTER (rank > 0) AS inner_name
    FROM frame GROUP BY callchain_id
), launched AS (
    SELECT call_id, count(*) AS operations, sum(end_ns - start_ns)::BIGINT AS gpu_ns
    FROM (
        SELECT call_id, start_ns, end_ns FROM kernel UNION ALL SELECT call_id, start_ns, end_ns FROM memop
        UNION ALL SELECT call_id, start_ns, end_ns FROM graph_launch
    ) GROUP BY call_id
), found AS (
    SELECT coalesce(told.site, '[no symbol]') AS site, told.module, inner_name, name_id, count(*) AS calls,
        sum(ns)::BIGINT AS cuda_ns, coalesce(sum(operations), 0)::BIGINT AS operations,
        coalesce(sum(gpu_ns), 0)::BIGINT AS gpu_ns
    FROM traced LEFT JOIN place USING (callchain_id) LEFT JOIN launched USING (call_id) GROUP BY ALL
)
SELECT site, module, arg_max(inner_name, (calls, inner_name)) AS "inner",
    arg_max(function_name(value), (calls, value)) AS function, sum(calls)::BIGINT AS calls,
    sum(cuda_ns)::BIGINT AS cuda_ns, sum(operations)::BIGINT AS operations, sum(gpu_ns)::BIGINT AS gpu_ns
FROM found LEFT JOIN string ON string_id = name_id GROUP BY site, module
ORDER BY gpu_ns DESC, cuda_ns DESC, site, module LIMIT $limit::BIGINT;
