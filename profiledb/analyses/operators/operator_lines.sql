-- title: Operators by source line
-- One row per program function that calls operators: the innermost Python function around an outermost operator,
-- excluding PyTorch, built-ins and Python's library. Work of a backward operator belongs to the line of its forward
-- operator. If operators have their own stacks, as in traces before 2022, these decide.
-- page: operators
-- show: line 390, device_ns, share_pct bar 100, forward_device_ns, backward_device_ns, calls, host_ns
-- show: backward_host_ns, operators 280
-- needs: python_call or operator
-- includes: operator_time, program_frame
-- selects: part
-- param: limit =  at most this many rows
-- column: line | text | | file, line and function, as in the trace; empty if no program function is known
-- column: calls | count | | outermost operators that the line called
-- column: device_ns = GPU time | ns | | GPU time of the forward and the backward pass
-- column: share_pct | % | .2f | share of the GPU time of all operators
-- column: forward_device_ns = GPU forward | ns | | GPU time that these operators launched
-- column: backward_device_ns = GPU backward | ns | | GPU time that their backward operators launched
-- column: host_ns = CPU forward | ns | | CPU time of these operators, from start to end
-- column: backward_host_ns = CPU backward | ns | | CPU time of their backward operators
-- column: operators | text | | operators with the most time
WITH RECURSIVE top AS MATERIALIZED (
    SELECT top.range_id, top.pre, top.post, top.start_ns, top.end_ns, top.global_tid, forward_range_id,
        stack.value AS stack
    FROM operator_outermost AS top LEFT JOIN operator USING (range_id)
    LEFT JOIN string AS stack ON stack.string_id = stack_id
), frame AS MATERIALIZED (
    SELECT python_id, parent_id, start_ns, end_ns, global_tid, value AS line, is_program_frame(value) AS is_program
    FROM python_call JOIN string ON string_id = name_id
), climbed AS (
    SELECT top.range_id, top.end_ns, top.global_tid, frame.parent_id, frame.line,
        frame.is_program AND frame.end_ns >= top.end_ns AS found, 1 AS levels
    FROM top ASOF JOIN frame ON top.global_tid = frame.global_tid AND top.start_ns >= frame.start_ns
    WHERE top.stack IS NULL
    UNION ALL
    SELECT range_id, climbed.end_ns, climbed.global_tid, frame.parent_id, frame.line,
        frame.is_program AND frame.end_ns >= climbed.end_ns, levels + 1
    FROM climbed JOIN frame ON python_id = climbed.parent_id AND frame.global_tid = climbed.global_tid
    WHERE NOT found AND levels < operator_levels()
), called AS MATERIALIZED (
    SELECT range_id, line FROM climbed WHERE found
    UNION ALL
    SELECT range_id, list_filter(string_split(stack, ';'), line -> is_program_frame(line))[1] FROM top
    WHERE stack IS NOT NULL
), place AS (
    SELECT top.*, coalesce(ahead.range_id, top.range_id) AS called_id, forward_range_id IS NOT NULL AS is_backward
    FROM top LEFT JOIN (
        SELECT range.range_id AS forward_range_id, top.range_id FROM range ASOF JOIN top ON range.pre >= top.pre
        WHERE range.pre <= top.post
    ) AS ahead USING (forward_range_id)
), timed AS (
    SELECT line, is_backward, is_kept, selected_operator.host_ns, device_ns, text
    FROM place JOIN selected_operator USING (range_id) LEFT JOIN called ON called.range_id = called_id
    JOIN range_name USING (name_id)
), by_name AS (
    SELECT line, text, sum(device_ns) AS device_ns, sum(host_ns) AS host_ns FROM timed WHERE NOT is_backward
    GROUP BY line, text
), named AS (
    SELECT line, string_agg(text, ', ' ORDER BY device_ns DESC, host_ns DESC, text) AS operators FROM (
        FROM by_name QUALIFY row_number() OVER (PARTITION BY line ORDER BY device_ns DESC, host_ns DESC, text) <= 3
    ) GROUP BY line
), total AS (
    SELECT line, count(*) FILTER (is_kept AND NOT is_backward) AS calls, sum(device_ns) AS device_ns,
        sum(device_ns) FILTER (NOT is_backward) AS forward_device_ns,
        sum(device_ns) FILTER (is_backward) AS backward_device_ns,
        sum(host_ns) FILTER (is_kept AND NOT is_backward) AS host_ns,
        sum(host_ns) FILTER (is_kept AND is_backward) AS backward_host_ns, sum(sum(device_ns)) OVER () AS all_ns
    FROM timed GROUP BY line
)
SELECT left(total.line, 400) AS line, calls, device_ns::BIGINT AS device_ns,
    100.0 * device_ns / nullif(all_ns, 0) AS share_pct,
    coalesce(forward_device_ns, 0)::BIGINT AS forward_device_ns,
    coalesce(backward_device_ns, 0)::BIGINT AS backward_device_ns, coalesce(host_ns, 0)::BIGINT AS host_ns,
    coalesce(backward_host_ns, 0)::BIGINT AS backward_host_ns, operators
FROM total LEFT JOIN named ON named.line IS NOT DISTINCT FROM total.line
WHERE has_rows('python_call') OR EXISTS (FROM operator WHERE stack_id IS NOT NULL)
ORDER BY device_ns DESC, host_ns DESC, line
LIMIT $limit::BIGINT;
