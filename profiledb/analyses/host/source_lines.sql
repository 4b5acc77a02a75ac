-- title: Source lines of moments
-- One row per stretch of time in which a Python function of the program ran on a thread that calls CUDA: the innermost
-- one in the middle of the stretch, outside frameworks, installed packages and Python's library. PyTorch traces provide
-- it in their calls (with_stack), nsys reports in the Python sample nearest to that moment.
-- needs: python_call or python_sample
-- includes: program_frame, cpu_code
-- param: spans =  stretches as START-END in ns on the report's clock, separated by commas
-- column: number | count | | number of the stretch, from 1
-- column: line | text | | file, line and function
WITH span AS (
    SELECT number, (a + b) // 2 AS middle_ns, a, b
    FROM (
        SELECT number, TRY_CAST(split_part(text, '-', 1) AS BIGINT) AS a,
            TRY_CAST(split_part(text, '-', 2) AS BIGINT) AS b
        FROM (
            SELECT unnest(string_split($spans::VARCHAR, ',')) AS text,
                unnest(range(1, len(string_split($spans::VARCHAR, ',')) + 1)) AS number
        )
    )
), caller AS MATERIALIZED (SELECT DISTINCT global_tid FROM api_call
), called AS MATERIALIZED (
    SELECT python_call.start_ns, end_ns, value AS line
    FROM python_call SEMI JOIN caller USING (global_tid) JOIN string ON string_id = name_id
    WHERE is_program_frame(value) AND NOT regexp_matches(value,
            '(site|dist)-packages/|^\s*(transformers|accelerate|diffusers|pytorch_lightning|lightning)/')
), sampled AS (
    SELECT number, arg_min(stack_id, abs(time_ns - middle_ns)) AS stack_id
    FROM span JOIN python_sample ON time_ns BETWEEN a AND b SEMI JOIN caller USING (global_tid) GROUP BY number
)
SELECT number, arg_max(line, (called.start_ns, -end_ns)) AS line
FROM span JOIN called ON middle_ns BETWEEN called.start_ns AND end_ns GROUP BY number
UNION ALL
SELECT number, arg_min(format('{}({}): {}', module_file(file), line, "function"), depth) FROM sampled
JOIN python_frame USING (stack_id)
WHERE NOT regexp_matches(file, '(site|dist)-packages/|/lib(64)?/python\d|^<') AND line IS NOT NULL
GROUP BY number
ORDER BY number;
