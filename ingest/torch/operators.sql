-- Attributes of operators, and the forward operator of each backward operator.

-- Autograd numbers the operators of a forward thread as they create graph nodes. If several share a number, the last
-- one to start created the node. A backward operator states this number and autograd's own number of the forward
-- thread, which no trace maps to a thread. If several threads use the number, an arrow from one operator to the other
-- decides; without one, nothing does.
CREATE OR REPLACE TEMP TABLE numbered_operator AS
SELECT trace_operator.*, range_id, start_ns, global_pid, thread, coalesce(forward_thread, 0) > 0 AS is_backward
FROM trace_operator JOIN numbered_range USING (number) JOIN thread_of USING (thread);
DROP TABLE temp.trace_operator;

CREATE OR REPLACE TEMP TABLE arrow AS
WITH flow AS (
    SELECT id, max(thread) FILTER (NOT is_backward) AS from_thread, max(time_ns) FILTER (NOT is_backward) AS from_ns,
        max(thread) FILTER (is_backward) AS to_thread, max(time_ns) FILTER (is_backward) AS to_ns
    FROM trace_flow GROUP BY id HAVING count(*) FILTER (is_backward) = 1 AND count(*) FILTER (NOT is_backward) = 1
), begun AS (
    SELECT thread, start_ns, arg_max(range_id, (sequence_number IS NOT NULL, range_id)) AS range_id
    FROM numbered_operator GROUP BY thread, start_ns
)
SELECT one.range_id AS forward_range_id, two.range_id AS range_id
FROM flow
JOIN begun AS one ON one.thread = from_thread AND one.start_ns = on_clock(from_ns)
JOIN begun AS two ON two.thread = to_thread AND two.start_ns = on_clock(to_ns);

CREATE OR REPLACE TEMP TABLE forward_of AS
WITH by_number AS (
    SELECT global_pid, sequence_number, arg_max(range_id, (start_ns, range_id)) AS forward_range_id
    FROM numbered_operator WHERE sequence_number >= 0 AND NOT is_backward
    GROUP BY global_pid, sequence_number HAVING count(DISTINCT thread) = 1
), by_arrow AS (
    SELECT global_pid, sequence_number, forward_thread, max(arrow.forward_range_id) AS forward_range_id
    FROM arrow JOIN numbered_operator USING (range_id) WHERE is_backward AND sequence_number >= 0
    GROUP BY ALL HAVING count(DISTINCT arrow.forward_range_id) = 1
)
SELECT range_id, coalesce(by_arrow.forward_range_id, by_number.forward_range_id) AS forward_range_id
FROM numbered_operator LEFT JOIN by_arrow USING (global_pid, sequence_number, forward_thread)
LEFT JOIN by_number USING (global_pid, sequence_number)
WHERE is_backward
UNION ALL
SELECT range_id, max(arrow.forward_range_id) FROM arrow JOIN numbered_operator USING (range_id)
WHERE NOT is_backward AND sequence_number IS NULL GROUP BY range_id;

INSERT INTO operator BY NAME
SELECT range_id, external_id, event_index, sequence_number, forward_thread, forward_range_id, d.string_id AS dims_id,
    t.string_id AS types_id, s.string_id AS strides_id, v.string_id AS values_id, flops, k.string_id AS stack_id,
    b.string_id AS backend_id, h.string_id AS kernel_hash_id
FROM numbered_operator LEFT JOIN forward_of USING (range_id)
LEFT JOIN text_of AS d ON d.id = dims LEFT JOIN text_of AS t ON t.id = types LEFT JOIN text_of AS s ON s.id = strides
LEFT JOIN text_of AS v ON v.id = "values" LEFT JOIN text_of AS k ON k.id = stack
LEFT JOIN text_of AS b ON b.id = backend LEFT JOIN text_of AS h ON h.id = kernel_hash;

-- Nothing needs these any more; the calls that launch operations are written next.
DROP TABLE temp.numbered_operator;
DROP TABLE temp.arrow;
DROP TABLE temp.forward_of;
DROP TABLE temp.numbered_range;
DROP TABLE temp.trace_python;
DROP TABLE temp.trace_memory;
