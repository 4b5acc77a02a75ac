-- Recording overhead of a trace.
-- includes: selection

-- Recorded details of each operator of the selection: torch.profiler options that its settings name or its rows show,
-- and operators on threads with launches.
CREATE OR REPLACE VIEW recorded AS
SELECT
    (
        SELECT list(option ORDER BY place) FROM (VALUES
            (1, 'with_stack', has_rows('python_call')),
            (2, 'record_shapes', EXISTS (
                FROM string WHERE string_id IN (SELECT dims_id FROM operator) AND regexp_matches(value, '\d')
            )),
            (3, 'with_modules', has_rows('module_call')),
            (4, 'profile_memory', EXISTS (FROM tensor_event WHERE kind = 'memory'))
        ) AS one (place, option, shown)
        WHERE has_rows('operator') AND (
                shown OR EXISTS (FROM capture_setting WHERE name = option AND lower(value) IN ('1', 'true'))
            )
    ) AS options,
    (
        SELECT count(*) FROM selected_range SEMI JOIN operator USING (range_id)
        WHERE global_tid IN (SELECT DISTINCT global_tid FROM api_call)
    ) AS operators;
