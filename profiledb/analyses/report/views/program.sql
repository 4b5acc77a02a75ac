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
