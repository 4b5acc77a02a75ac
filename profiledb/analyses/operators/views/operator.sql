-- Operators of a trace, counted as in torch.profiler's key_averages (torch/autograd/profiler_util.py: EventList).
-- includes: selection

-- Maximum levels of a search from a range or a Python function up to its target. Real traces need about a dozen; deeper
-- nesting, by damage or on purpose, finds nothing.
CREATE OR REPLACE MACRO operator_levels() AS 64;

-- Operators that torch.profiler leaves out: bookkeeping of the profiler and of autograd.
CREATE OR REPLACE MACRO is_left_out_operator(name) AS name IN (
    'profiler::_record_function_enter', 'profiler::_record_function_enter_new', 'profiler::_record_function_exit',
    'aten::is_leaf', 'aten::output_nr', 'aten::_version'
);

-- Nesting events: operators and annotations.
CREATE OR REPLACE VIEW operator_event AS
SELECT range.*, text, range.end_ns - range.start_ns AS host_ns, coalesce(domain = 'operator', false) AS is_operator
FROM range JOIN range_name USING (name_id)
WHERE (domain = 'operator' AND NOT is_left_out_operator(text)) OR domain IS NULL;

-- Outermost operators: they share no time with each other on their thread.
CREATE OR REPLACE VIEW operator_outermost AS
SELECT range_id, pre, post, start_ns, end_ns, global_tid, path_id FROM (
    SELECT *, max(post) OVER (ORDER BY pre ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
    FROM operator_event WHERE is_operator
) WHERE reached IS NULL OR pre > reached;

-- The event of a range inside an operator that is not an event itself, such as a module: the next one around it.
-- Annotations are CPU events only: GPU work belongs to operators, even if an annotation lies between.
CREATE OR REPLACE MACRO operator_passed(annotations) AS TABLE
WITH RECURSIVE passed AS MATERIALIZED (
    SELECT other.range_id, other.parent_id
    FROM (FROM range ANTI JOIN (FROM operator_event WHERE annotations OR is_operator) USING (range_id)) AS other
    ASOF JOIN operator_outermost AS top ON other.pre > top.pre WHERE other.pre <= top.post
), climbed AS (
    SELECT range_id, parent_id AS around_id, 1 AS levels FROM passed
    UNION ALL
    SELECT climbed.range_id, passed.parent_id, levels + 1 FROM climbed JOIN passed ON passed.range_id = around_id
    WHERE levels < operator_levels()
)
SELECT range_id, around_id FROM climbed ANTI JOIN (SELECT range_id AS around_id FROM passed) USING (around_id);

-- Python functions inside operators, with the innermost event around each.
CREATE OR REPLACE VIEW operator_python AS
WITH RECURSIVE inside AS MATERIALIZED (
    SELECT call.start_ns, call.end_ns, call.global_tid, top.pre, top.post
    FROM python_call AS call ASOF JOIN operator_outermost AS top
        ON call.global_tid = top.global_tid AND call.start_ns >= top.start_ns
    WHERE call.end_ns <= top.end_ns AND (call.start_ns > top.start_ns OR call.end_ns < top.end_ns)
), event AS MATERIALIZED (
    SELECT event.* FROM operator_event AS event ASOF JOIN (SELECT DISTINCT pre, post FROM inside) AS held
        ON event.pre >= held.pre WHERE event.pre <= held.post
), climbed AS (
    SELECT inside.start_ns, inside.end_ns, event.range_id, event.parent_id, event.end_ns AS reached,
        1 AS levels
    FROM inside ASOF JOIN event ON inside.global_tid = event.global_tid AND inside.start_ns >= event.start_ns
    UNION ALL
    SELECT climbed.start_ns, climbed.end_ns, around.range_id, around.parent_id, around.end_ns, levels + 1
    FROM climbed JOIN range AS around ON around.range_id = climbed.parent_id
    WHERE climbed.end_ns > reached AND levels < operator_levels()
)
SELECT start_ns, end_ns, coalesce(around_id, range_id) AS around_id
FROM climbed LEFT JOIN operator_passed(true) USING (range_id) WHERE end_ns <= reached;

-- Direct children of an event, which reduce its self time: events, CUDA calls and Python functions, unless nested in
-- another one of these.
CREATE OR REPLACE VIEW operator_child AS
WITH child AS (
    SELECT range_id, coalesce(around_id, parent_id) AS around_id, start_ns, end_ns
    FROM operator_event LEFT JOIN (SELECT range_id AS parent_id, around_id FROM operator_passed(true)) USING (parent_id)
    UNION ALL
    SELECT NULL, coalesce(around_id, range.range_id), call.start_ns, call.end_ns
    FROM api_call AS call JOIN range ON range.pre = call.thread_range
    LEFT JOIN operator_passed(true) AS passed ON passed.range_id = range.range_id
    UNION ALL
    SELECT NULL, around_id, start_ns, end_ns FROM operator_python
), swept AS (
    SELECT *, max(end_ns) OVER (
            PARTITION BY around_id ORDER BY start_ns, end_ns DESC, range_id ROWS BETWEEN UNBOUNDED PRECEDING
            AND 1 PRECEDING
        ) AS reached
    FROM child WHERE around_id IS NOT NULL
)
SELECT range_id, around_id, end_ns - start_ns AS ns FROM swept WHERE reached IS NULL OR end_ns > reached;

-- Events with their CPU self time. An operator that only calls one of the same name merges with it (`top_id` is the
-- outermost of them), so that neither counts twice.
CREATE OR REPLACE VIEW operator_own AS
WITH RECURSIVE child AS MATERIALIZED (FROM operator_child), held AS (
    SELECT around_id, sum(ns) AS ns, count(*) AS children FROM child GROUP BY around_id
), event AS MATERIALIZED (
    SELECT event.*, host_ns - coalesce(held.ns, 0) AS self_ns
    FROM operator_event AS event LEFT JOIN held ON held.around_id = event.range_id
), lonely AS MATERIALIZED (  -- otherwise a join by name would come first, and be large
    SELECT event.range_id, child.around_id, text, is_operator FROM child JOIN event USING (range_id)
    JOIN held USING (around_id) WHERE held.children = 1
), same AS MATERIALIZED (
    SELECT lonely.range_id, around_id FROM lonely JOIN event AS around
        ON around.range_id = around_id AND around.text = lonely.text AND around.is_operator = lonely.is_operator
), climbed AS (
    SELECT range_id, around_id, 1 AS levels FROM same
    UNION ALL
    SELECT climbed.range_id, same.around_id, levels + 1 FROM climbed JOIN same ON same.range_id = climbed.around_id
    WHERE levels < operator_levels()
), top AS (
    SELECT range_id, around_id AS top_id FROM climbed
    ANTI JOIN (SELECT range_id AS around_id FROM same) USING (around_id)
)
SELECT event.range_id, coalesce(top_id, event.range_id) AS top_id, pre, post, name_id, start_ns, end_ns, global_tid,
    host_ns, self_ns, is_operator
FROM event LEFT JOIN top USING (range_id);

-- GPU work of the selection, by the innermost range around its launch on the launching thread.
CREATE OR REPLACE VIEW selected_launched AS
SELECT pre, sum(ns) AS ns FROM (
    SELECT thread_range AS pre, end_ns - start_ns AS ns FROM selected_kernel
    UNION ALL SELECT thread_range, end_ns - start_ns FROM selected_memop
    UNION ALL SELECT thread_range, end_ns - start_ns FROM selected_graph_launch
) WHERE pre IS NOT NULL GROUP BY pre;

-- Range paths that end with a module, by the module names of the trace; slashes in names are replaced.
CREATE OR REPLACE VIEW module_title AS
SELECT path_id, parent_id, starts_with(name, 'nn.Module: ') AS is_module,
    replace(left(regexp_replace(name, '^nn\.Module: ', ''), 60), '/', '∕') AS title
FROM range_path;
