-- title: Where GPU work is launched
-- CUDA call stacks by place in the program: the innermost Python frame outside installed packages, else the innermost
-- Python frame, else the innermost frame that identifies the program. Includes the work that these calls launched. Only
-- calls with a stack count: nsys takes one if a call lasts longer than a threshold.
-- page: host
-- show: site 300, module 200, gpu_ns, operations, cuda_ns, calls, function 180, inner 220
-- prefetch: part
-- needs: api_call
-- includes: selection, host, memory
-- selects: part
-- param: limit = 100 at most this many rows
-- column: site = Place | text | | function of the program that made the calls
-- column: module | text | | its file; in Python with the line
-- column: inner = Through | text | | innermost frame that identifies the program, in most of these calls
-- column: function = CUDA function | text | | most frequently called function
-- column: calls | count | | CUDA calls with a call stack from there
-- column: cuda_ns = CUDA time | ns | | sum of their durations
-- column: operations | count | | kernels, memcpy and memset operations that these calls launched
-- column: gpu_ns = GPU time | ns | | sum of their durations on the GPU
WITH stack AS (
    SELECT global_tid, time_ns AS start_ns, min(stack_id) AS stack_id FROM python_sample
    WHERE kind = 'cuda' GROUP BY ALL
), traced AS MATERIALIZED (
    SELECT call_id, name_id, end_ns - start_ns AS ns, stack_id, chain.callchain_id
    FROM selected_api_call AS call LEFT JOIN stack USING (global_tid, start_ns)
    LEFT JOIN (SELECT DISTINCT callchain_id FROM callchain WHERE kind = 'cuda') AS chain USING (callchain_id)
    WHERE (has_rows('python_sample') OR has_rows('callchain'))
        AND (stack_id IS NOT NULL OR chain.callchain_id IS NOT NULL)
), frame AS (
    SELECT 'cuda' AS kind, * FROM host_frame('cuda') WHERE callchain_id IN (SELECT callchain_id FROM traced)
    UNION ALL
    SELECT 'python', * FROM host_frame('python') WHERE callchain_id IN (SELECT stack_id FROM traced)
), ranked AS (
    SELECT kind, callchain_id AS id, depth, function, concat_ws(':', module, line) AS module, CASE
            WHEN kind = 'python' OR regexp_matches(path, '\.pyx?$')
                THEN CASE WHEN regexp_matches(path, '(site|dist)-packages|/lib(64)?/python\d|<frozen') THEN 3 ELSE 4 END
            WHEN regexp_matches(module, '^lib(cuda|cudart|cupti|nv|ToolsInjection|pthread|c\.|torch|c10)') THEN 0
            ELSE frame_rank(function, module) END AS rank
    FROM frame
), place AS MATERIALIZED (
    SELECT kind, id, arg_max({site: function, module: module}, (rank, -depth, function)) AS caller,
        arg_min(function, (depth, function)) AS inner_name
    FROM ranked WHERE rank > 0 GROUP BY kind, id
), launched AS (
    SELECT call_id, count(*) AS operations, sum(end_ns - start_ns)::BIGINT AS gpu_ns
    FROM (
        SELECT call_id, start_ns, end_ns FROM kernel UNION ALL SELECT call_id, start_ns, end_ns FROM memop
        UNION ALL SELECT call_id, start_ns, end_ns FROM graph_launch
    ) GROUP BY call_id
), found AS (
    SELECT coalesce(python.caller, native.caller) AS caller,
        coalesce(python.inner_name, native.inner_name) AS inner_name,
        name_id, count(*) AS calls, sum(ns)::BIGINT AS cuda_ns, coalesce(sum(operations), 0)::BIGINT AS operations,
        coalesce(sum(gpu_ns), 0)::BIGINT AS gpu_ns
    FROM traced LEFT JOIN place AS python ON python.kind = 'python' AND python.id = stack_id
    LEFT JOIN place AS native ON native.kind = 'cuda' AND native.id = callchain_id
    LEFT JOIN launched USING (call_id) GROUP BY ALL
)
SELECT coalesce(caller.site, '[no symbol]') AS site, caller.module AS module,
    arg_max(inner_name, (calls, inner_name)) AS "inner", arg_max(function_name(value), (calls, value)) AS function,
    sum(calls)::BIGINT AS calls, sum(cuda_ns)::BIGINT AS cuda_ns, sum(operations)::BIGINT AS operations,
    sum(gpu_ns)::BIGINT AS gpu_ns
FROM found LEFT JOIN string ON string_id = name_id GROUP BY ALL
ORDER BY gpu_ns DESC, cuda_ns DESC, site, module LIMIT $limit::BIGINT;
