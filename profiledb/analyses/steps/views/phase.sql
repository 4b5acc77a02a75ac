-- Building blocks of the analyses by program phase.
-- includes: selection, ranges

-- Phase of a range name, by the patterns of phases.toml, and the position of a phase among all of them. phases.apply
-- overrides these for the analyses that use them.
CREATE OR REPLACE MACRO phase_of(name) AS NULL::VARCHAR;
CREATE OR REPLACE MACRO phase_place(phase) AS 0;

-- Classes of matrix products. Fused attention and convolutions are not: matrix products are much of their work, but not
-- all.
CREATE OR REPLACE MACRO is_matmul(class) AS coalesce(class = 'matmul', false);

-- Kernel time of the selection by phase and name: one row per phase, name and whether it is in a pass. A kernel belongs
-- to the innermost range on its launch path whose name has a phase. If that path has none, a further range around the
-- call decides (call_range): libraries open their own ranges on the threads of a backward pass. `passes` is empty if
-- the passes hold less than a quarter of the time of the kernels that start from the first to the last of them: then
-- threads outside the passes launch most kernels, and figures per step would mislead. If the optimizer is the only
-- phase and looks up embeddings, convolves or attends, its range is the whole step (optimizer_step_3), which has none.
CREATE OR REPLACE MACRO selected_phase_time(mode_of_range) AS TABLE
WITH RECURSIVE path_phase AS (
    SELECT path_id, phase_of(name) AS phase FROM range_path WHERE parent_id IS NULL
    UNION ALL
    SELECT range_path.path_id, coalesce(phase_of(range_path.name), path_phase.phase)
    FROM path_phase JOIN range_path ON range_path.parent_id = path_phase.path_id
), pass AS MATERIALIZED (
    SELECT pre, post, rank, start_ns, until_ns FROM selected_pass(mode_of_range)
), passed AS (
    SELECT min(start_ns) AS from_ns, max(until_ns) AS to_ns, nullif(count(*) FILTER (rank = 1), 0) AS passes
    FROM pass
), place AS MATERIALIZED (
    SELECT range.pre, phase, coalesce(range.pre <= pass.post, false) AS in_pass
    FROM range LEFT JOIN path_phase USING (path_id) ASOF LEFT JOIN pass ON range.pre >= pass.pre
), further AS MATERIALIZED (
    SELECT call_id, arg_max(phase, pre) AS phase, bool_or(in_pass) AS in_pass
    FROM call_range JOIN place ON pre = CASE mode_of_range WHEN 'process' THEN process_range ELSE thread_range END
    GROUP BY call_id
), placed AS (
    SELECT coalesce(place.phase, further.phase, 'none') AS phase, name_id, end_ns - start_ns AS ns,
        coalesce(place.in_pass, false) OR coalesce(further.in_pass, false) AS in_pass,
        start_ns BETWEEN from_ns AND to_ns AS beside
    FROM selected_kernel AS kernel CROSS JOIN passed
    LEFT JOIN place ON pre = CASE mode_of_range WHEN 'process' THEN process_range ELSE thread_range END
    LEFT JOIN further USING (call_id)
), summed AS (
    SELECT phase, name_id, in_pass, sum(ns)::BIGINT AS total_ns, count(*) AS calls,
        coalesce(sum(ns) FILTER (in_pass), 0) AS inside_ns, coalesce(sum(ns) FILTER (beside), 0) AS all_ns
    FROM placed GROUP BY phase, name_id, in_pass
), whole AS (
    SELECT coalesce(bool_and(phase IN ('none', 'optimizer'))
            AND bool_or(phase = 'optimizer' AND class IN ('embedding', 'convolution', 'attention', 'softmax')), false)
            AS is_step
    FROM summed LEFT JOIN kernel_name USING (name_id)
), merged AS (
    SELECT CASE WHEN is_step THEN 'none' ELSE phase END AS phase, name_id, in_pass, sum(total_ns)::BIGINT AS total_ns,
        sum(calls)::BIGINT AS calls, sum(inside_ns) AS inside_ns, sum(all_ns) AS all_ns
    FROM summed CROSS JOIN whole GROUP BY ALL
)
SELECT phase, name_id, in_pass, total_ns, calls,
    CASE WHEN mode_of_range = 'thread' OR 4 * sum(inside_ns) OVER () >= sum(all_ns) OVER ()
        THEN passed.passes END AS passes
FROM merged CROSS JOIN passed;
