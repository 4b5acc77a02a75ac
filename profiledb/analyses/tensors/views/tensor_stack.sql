-- Allocation stacks of memory snapshots.
-- includes: program_frame

-- A stack as text, innermost frame first, at most 40, and its line: the innermost program function, else the innermost
-- Python function, else the innermost one.
CREATE OR REPLACE VIEW tensor_stack AS
WITH used AS (
    SELECT stack_id FROM tensor_event WHERE stack_id IS NOT NULL
    UNION SELECT stack_id FROM tensor_block WHERE stack_id IS NOT NULL
), frame AS (
    SELECT function, file, line, concat(file, '(', line, '): ', function) AS text,
        CASE WHEN is_program_frame(text) THEN 0 WHEN contains(text, '.py(') THEN 1 ELSE 2 END AS rank
    FROM (SELECT DISTINCT function, file, line FROM python_frame SEMI JOIN used USING (stack_id))
)
SELECT stack_id, arg_min(text, (rank, depth)) AS line,
    string_agg(text, ' < ' ORDER BY depth) FILTER (depth < 40) AS stack
FROM python_frame SEMI JOIN used USING (stack_id) JOIN frame USING (function, file, line)
GROUP BY stack_id;
