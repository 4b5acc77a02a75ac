-- A Systems report joined to a Compute report of the same program (pair.py): matching kernels.
-- includes: selection, ncu, program

-- Kernel names of a Compute report. If it is joined to another one, the library overrides this view.
CREATE OR REPLACE VIEW ncu_kernel_name AS FROM kernel_name;

-- A pattern for a list in parentheses, with nested lists up to the depth in kernel names.
CREATE OR REPLACE MACRO in_parentheses() AS
'\((?:[^()]|\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\))*\)';

-- The part of a full name on which all profilers and demanglers agree, without the parts that they write differently:
-- return type, parameter lists (some put T1 for what others write out), const, casts and number suffixes, instances of
-- lambdas, anonymous and inline namespaces, spaces. NULL if nothing is left.
-- void f<(int)4, (bool)1>(const T1 *)   void f<4, true>(float const*)   f<4,1>
-- noqa: disable=LT01
CREATE OR REPLACE MACRO normal_name(text) AS nullif(trim(
    text.replace('(anonymous namespace)', '<unnamed>').replace('[lambda', '{lambda')
        .regexp_replace(' \(instance (\d+)\)\]', '#\1}', 'g')
        .regexp_replace(in_parentheses() || '(?: const)?::', '::', 'g')
        .regexp_replace(in_parentheses() || '(?: const)?$', '')
        .regexp_replace('\b(?:const|volatile)\b', '', 'g')
        .regexp_replace('\([\w:<> ]+\)(-?\d)', '\1', 'g')
        .regexp_replace('([<, ])[\w: ]+=(-?\d)', '\1\2', 'g')
        .regexp_replace('\b(\d+)u?l{0,2}\b', '\1', 'g')
        .regexp_replace('\btrue\b', '1', 'g').regexp_replace('\bfalse\b', '0', 'g')
        .regexp_replace('\b(std|cuda::std)::__\w+::', '\1::', 'g')
        .regexp_replace('(^|[<,(] ?)void ([\w<])', '\1\2', 'g')
        .regexp_replace(' *([^\w ]) *', '\1', 'g')
        .regexp_replace('^(?:[\w:]|<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)+ (\w)', '\1')
), '');
-- noqa: enable=LT01

-- The matching kernel of the Compute report for each kernel (kernel_key.kernel): the one with its mangled name; of the
-- kernels left on both sides, those with its normal name. A name that means several kernels on either side is marked.
CREATE OR REPLACE VIEW pair_name AS
WITH ours AS (
    SELECT DISTINCT kernel, mangled, demangled FROM kernel_key
), theirs AS (
    SELECT DISTINCT coalesce(mangled, kernel) AS ncu_key, mangled, kernel AS demangled FROM ncu_launch
), by_mangled AS (
    SELECT DISTINCT kernel, ncu_key FROM ours JOIN theirs USING (mangled)
), our_rest AS (
    SELECT kernel, normal_name(any_value(demangled)) AS name
    FROM ours ANTI JOIN by_mangled USING (kernel) GROUP BY kernel
), their_rest AS (
    SELECT ncu_key, normal_name(any_value(demangled)) AS name
    FROM theirs ANTI JOIN by_mangled USING (ncu_key) GROUP BY ncu_key
), by_name AS (
    SELECT kernel, ncu_key, count(DISTINCT kernel) OVER (PARTITION BY name) AS here,
        count(DISTINCT ncu_key) OVER (PARTITION BY name) AS there
    FROM our_rest JOIN their_rest USING (name)
)
SELECT kernel, ncu_key, NULL::VARCHAR AS ambiguous FROM by_mangled
UNION ALL
SELECT kernel, ncu_key,
    nullif(concat_ws('; ', CASE WHEN here > 1 THEN here || ' kernels of this report have this name' END,
    CASE WHEN there > 1 THEN there || ' kernels of the Compute report have this name' END), '')
FROM by_name;

-- Kernels of the selection by grid and block; place orders them, most time first. Keyed by number, because names are
-- long.
CREATE OR REPLACE VIEW selected_kernel_shape AS
WITH launch AS (
    SELECT name_id, grid_x, grid_y, grid_z, block_x, block_y, block_z, count(*) AS calls,
        sum(end_ns - start_ns)::BIGINT AS total_ns
    FROM selected_kernel GROUP BY ALL
), shape AS (
    SELECT kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, sum(calls)::BIGINT AS calls,
        sum(total_ns)::BIGINT AS total_ns
    FROM launch JOIN (SELECT name_id, kernel FROM kernel_key) USING (name_id) GROUP BY ALL
)
SELECT *, row_number() OVER (ORDER BY total_ns DESC, calls, kernel, grid_x, grid_y, grid_z, block_x, block_y,
    block_z) AS place
FROM shape;

-- Measured launches with the requested roofline point; of_level NULL: without any.
CREATE OR REPLACE MACRO pair_launch(of_level, of_precision) AS TABLE
WITH point AS (
    SELECT * FROM ncu_roofline_point
    WHERE level = of_level AND CASE of_precision WHEN 'main' THEN is_main ELSE precision = of_precision END
)
SELECT launch_id, coalesce(mangled, kernel) AS ncu_key, grid_x, grid_y, grid_z, block_x, block_y, block_z,
    coalesce(grid_size, grid_x * coalesce(grid_y, 1) * coalesce(grid_z, 1)) AS blocks,
    coalesce(block_size, block_x * coalesce(block_y, 1) * coalesce(block_z, 1)) AS threads, duration_ns,
    ncu_verdict(sm_throughput_pct, memory_throughput_pct, dram_throughput_pct) AS verdict,
    verdict_pct(verdict, sm_throughput_pct, memory_throughput_pct) AS verdict_pct,
    verdict_reason(verdict, sm_throughput_pct, memory_throughput_pct, dram_throughput_pct, waves_per_sm)
        AS verdict_reason, point.* EXCLUDE (launch_id)
FROM ncu_launch LEFT JOIN point USING (launch_id);

-- The command that measures one launch of a kernel. Its mangled name is given where other kernels share the short one;
-- a shell takes what stands between quotes as it is.
CREATE OR REPLACE MACRO ncu_command(short, mangled) AS
'ncu --set full --launch-count 1 '
    || IF(mangled IS NULL, '--kernel-name ', '--kernel-name-base mangled --kernel-name ')
    || quoted_for_shell(coalesce(mangled, short)) || ' -o report '
    || coalesce((SELECT command FROM recorded_program), 'PROGRAM');

-- The one in the middle of launches by duration, of an even number the shorter.
CREATE OR REPLACE MACRO middle_launch(launch_id, duration_ns) AS
list(launch_id ORDER BY duration_ns NULLS LAST, launch_id)[(greatest(count(duration_ns), 1) + 1) // 2];

-- Kernels of the selection by grid and block, each with the launches that ncu measured: of the same name, grid and
-- block (exact), else of the same name, else none. Measurements come from the median launch, and from exact ones only.
-- For some launches ncu states only the numbers of blocks and threads: these then decide.
CREATE OR REPLACE MACRO selected_pair(of_level, of_precision) AS TABLE
WITH launch AS MATERIALIZED (
    FROM pair_launch(of_level, of_precision)
), shape AS MATERIALIZED (
    FROM selected_kernel_shape
), partner AS MATERIALIZED (
    FROM pair_name
), named AS (
    SELECT kernel, count(*) AS launches, middle_launch(launch_id, duration_ns) AS launch_id,
        any_value(ambiguous) AS ambiguous
    FROM partner JOIN launch USING (ncu_key) GROUP BY kernel
), same AS (
    SELECT place, launch.*, ambiguous
    FROM shape JOIN partner USING (kernel) JOIN launch ON launch.ncu_key = partner.ncu_key
        AND blocks = shape.grid_x::BIGINT * shape.grid_y * shape.grid_z
        AND threads = shape.block_x * shape.block_y * shape.block_z
    WHERE coalesce(launch.grid_x, shape.grid_x) = shape.grid_x AND coalesce(launch.grid_y, shape.grid_y) = shape.grid_y
        AND coalesce(launch.block_x, shape.block_x) = shape.block_x
        AND coalesce(launch.block_y, shape.block_y) = shape.block_y
), spread AS (
    SELECT place, count(*) AS launches, middle_launch(launch_id, duration_ns) AS launch_id,
        any_value(ambiguous) AS ambiguous,
        nullif(concat_ws(', ',
            CASE WHEN count(DISTINCT verdict) > 1 THEN string_agg(DISTINCT verdict, ' / ' ORDER BY verdict) END,
            CASE WHEN max(intensity) > 1.1 * min(intensity)
                THEN format(if(max(intensity) < 1000, 'intensity {:.3g} to {:.3g} FLOP/byte',
                    'intensity {:,.0f} to {:,.0f} FLOP/byte'), min(intensity), max(intensity)) END,
            CASE WHEN max(duration_ns) > 1.25 * min(duration_ns)
                THEN format('{:.1f} to {:.1f} µs', min(duration_ns) / 1e3, max(duration_ns) / 1e3) END), '') AS differ
    FROM same GROUP BY place
), exact AS (
    SELECT place, launches, launch_id,
        nullif(concat_ws('; ', ambiguous, launches || ' launches differ: ' || differ), '') AS ambiguous
    FROM spread
), title AS MATERIALIZED (
    SELECT name_id AS kernel, readable_name(short, demangled) AS name, class, demangled FROM kernel_name
    WHERE name_id IN (SELECT kernel FROM shape)
)
SELECT shape.*, name, class, demangled,
    CASE WHEN exact.launches > 0 THEN 'exact' WHEN named.launches > 0 THEN 'name' ELSE 'none' END AS match,
    coalesce(exact.launches, named.launches, 0) AS launches, coalesce(exact.launch_id, named.launch_id) AS launch_id,
    CASE WHEN exact.launches > 0 THEN exact.ambiguous ELSE named.ambiguous END AS ambiguous,
    launch.* EXCLUDE (launch_id, ncu_key, grid_x, grid_y, grid_z, block_x, block_y, block_z)
FROM shape JOIN title USING (kernel) LEFT JOIN exact USING (place) LEFT JOIN named USING (kernel)
LEFT JOIN launch ON launch.launch_id = exact.launch_id;
