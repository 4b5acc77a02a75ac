-- What a report tells of the program and of the machine that it ran on.

-- Whether it ran under WSL2, whose drivers often do not report what runs on a GPU.
CREATE OR REPLACE VIEW machine AS
SELECT count(*) > 0 AS wsl FROM system_info
WHERE name = 'SoftwareReleaseVersion' AND value ILIKE '%microsoft%';

-- Whether it uses PyTorch: by its kernels and those that its compiler makes, by its operators as ranges, by the names
-- of its threads, and by its libraries in call chains.
CREATE OR REPLACE VIEW program AS
SELECT
    EXISTS (
        SELECT 1 FROM (SELECT demangled FROM kernel_name UNION ALL SELECT kernel FROM ncu_launch) AS named (kernel)
        WHERE regexp_matches(kernel, '\b(at|c10|torch)::|^triton_')
    )
    OR EXISTS (SELECT 1 FROM range_name WHERE starts_with(text, 'aten::'))
    OR EXISTS (SELECT 1 FROM thread WHERE starts_with(name, 'pt_'))
    OR EXISTS (SELECT 1 FROM string WHERE regexp_matches(value, '/lib(torch|c10)[^/]*[.]so')) AS torch;

-- What a trace recorded of each operator of the selection: the options of torch.profiler that its settings name or its
-- rows show, and the operators on threads that launch anything.
CREATE OR REPLACE VIEW traced AS
SELECT
    (
        SELECT list(option ORDER BY place) FROM (VALUES
            (1, 'with_stack', EXISTS (FROM python_call)),
            (2, 'record_shapes', EXISTS (FROM operator WHERE dims_id IS NOT NULL)),
            (3, 'with_modules', EXISTS (FROM module_call)),
            (4, 'profile_memory', EXISTS (FROM tensor_event WHERE kind = 'memory'))
        ) AS one (place, option, shown)
        WHERE EXISTS (FROM operator) AND (
                shown OR EXISTS (FROM capture_setting WHERE name = option AND lower(value) IN ('1', 'true'))
            )
    ) AS options,
    (
        SELECT count(*) FROM selected_range SEMI JOIN operator USING (range_id)
        WHERE global_tid IN (SELECT DISTINCT global_tid FROM api_call)
    ) AS operators;
