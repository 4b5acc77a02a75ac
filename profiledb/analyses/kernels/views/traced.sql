-- Operators of kernels: a trace uses its own, a Systems report those of its linked trace (pair.py).

-- Tables of the trace. If a Systems report is joined to one, the library overrides these views.
CREATE OR REPLACE VIEW trace_kernel AS FROM kernel;
CREATE OR REPLACE VIEW trace_range AS FROM range;
CREATE OR REPLACE VIEW trace_range_name AS FROM range_name;
CREATE OR REPLACE VIEW trace_range_path AS FROM range_path;
CREATE OR REPLACE VIEW trace_operator AS FROM operator;
CREATE OR REPLACE VIEW trace_python_call AS FROM python_call;
CREATE OR REPLACE VIEW trace_string AS FROM string;

CREATE OR REPLACE MACRO shortened(text, most) AS CASE
    WHEN length(text) > most THEN left(text, most - 1) || '…' ELSE text
END;

-- The matching kernel of the trace for each kernel.
CREATE OR REPLACE VIEW trace_pair AS SELECT kernel_id, kernel_id AS trace_kernel_id FROM kernel;

-- The modules of each path of ranges, the outermost first: Transformer_0 / Block_1 / Linear_4.
CREATE OR REPLACE VIEW trace_path_module AS
WITH RECURSIVE named AS MATERIALIZED (
    SELECT path_id, path.parent_id,
        CASE WHEN domain = 'module' THEN regexp_replace(text, '^nn\.Module: ', '') END AS module
    FROM trace_range_path AS path
    JOIN (SELECT path_id, any_value(name_id) AS name_id FROM trace_range GROUP BY path_id) USING (path_id)
    JOIN trace_range_name USING (name_id)
), nested AS (
    SELECT path_id, module AS modules FROM named WHERE parent_id IS NULL
    UNION ALL
    SELECT named.path_id, coalesce(modules || ' / ' || module, module, modules)
    FROM nested JOIN named ON named.parent_id = nested.path_id
)
FROM nested WHERE modules IS NOT NULL;

-- The innermost operator around the launch of each kernel, or of one (`wanted`), and the modules around it. A backward
-- operator uses the modules of its forward operator: `source_id`, whose Python code is also the kernel's. Kernels that
-- no operator launched, or that the trace lacks, are missing.
CREATE OR REPLACE MACRO kernel_operator(wanted) AS TABLE
WITH RECURSIVE launch AS MATERIALIZED (
    SELECT trace_pair.kernel_id, thread_range AS pre
    FROM trace_pair JOIN trace_kernel ON trace_kernel.kernel_id = trace_kernel_id
    WHERE wanted IS NULL OR trace_pair.kernel_id = wanted
), climbed AS (
    SELECT range.range_id AS origin, range.range_id, parent_id, path_id, operator.range_id IS NOT NULL AS found
    FROM trace_range AS range LEFT JOIN trace_operator AS operator USING (range_id)
    WHERE pre IN (SELECT pre FROM launch)
    UNION ALL
    SELECT origin, range.range_id, range.parent_id, range.path_id, operator.range_id IS NOT NULL
    FROM climbed JOIN trace_range AS range ON range.range_id = climbed.parent_id
    LEFT JOIN trace_operator AS operator ON operator.range_id = range.range_id
    WHERE NOT found
), inner_one AS MATERIALIZED (
    SELECT origin, range_id, modules FROM climbed LEFT JOIN trace_path_module USING (path_id) WHERE found
), backward AS (
    SELECT DISTINCT range_id AS start_id, range_id AS around_id, NULL::BIGINT AS forward_id
    FROM inner_one WHERE modules IS NULL
    UNION ALL
    SELECT start_id, range.parent_id, forward_range_id
    FROM backward JOIN trace_range AS range ON range.range_id = around_id
    LEFT JOIN trace_operator AS operator ON operator.range_id = around_id
    WHERE forward_id IS NULL
), forward AS (
    SELECT start_id AS range_id, forward_id, modules AS forward_modules
    FROM backward JOIN trace_range AS range ON range.range_id = forward_id LEFT JOIN trace_path_module USING (path_id)
)
SELECT launch.kernel_id, text AS operator, dims_id, types_id, stack_id,
    coalesce(modules, forward_modules) AS modules, coalesce(forward_id, one.range_id) AS source_id
FROM launch JOIN trace_range AS range USING (pre) JOIN inner_one AS one ON one.origin = range.range_id
JOIN trace_operator AS operator ON operator.range_id = one.range_id
JOIN trace_range AS own ON own.range_id = one.range_id
JOIN trace_range_name AS own_name ON own_name.name_id = own.name_id
LEFT JOIN forward ON forward.range_id = one.range_id;
