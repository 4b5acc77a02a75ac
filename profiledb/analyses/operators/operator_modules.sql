-- title: Modules
-- One row per module of the model, in tree order: calls and times of its forward pass, and of its share of the backward
-- pass. A backward operator belongs to the modules around its forward operator (operator.forward_range_id), and so do
-- its launches, unless it runs a module itself, as in activation checkpointing: that counts as forward. Times and FLOPs
-- include nested modules. A module nested in more than 31 others merges with the module around it.
-- page: operators
-- show: name 280, share_pct bar 100, device_ns, device_self_ns, forward_device_ns, backward_device_ns, calls
-- show: forward_host_ns, backward_host_ns, flops 96, flops_per_s 110
-- needs: module_call
-- includes: selection, operator, operator_model
-- selects: part
-- param: depth =  keeps modules down to this level, from 1
-- param: limit =  at most this many rows, those with the most time
-- column: path | text | | modules from the outermost one, separated by slashes
-- column: name = Module | text | | class, and number among the modules of the class
-- column: level | count | | number of enclosing modules
-- column: calls | count | | forward calls that started in the selection
-- column: device_ns = GPU time | ns | | GPU time of the forward and the backward pass
-- column: share_pct | % | .2f | share of all GPU time of the selection
-- column: device_self_ns = GPU self | ns | | GPU time without nested modules
-- column: forward_device_ns = GPU forward | ns | | GPU time of the forward pass
-- column: backward_device_ns = GPU backward | ns | | GPU time of the backward pass
-- column: forward_host_ns = CPU forward | ns | | CPU time of its forward calls, from start to end
-- column: backward_host_ns = CPU backward | ns | | CPU time of the backward operators of its forward ones
-- column: flops = FLOPs | FLOP | .0f | floating-point operations of both passes, from the trace or the model
-- column: flops_per_s = Achieved | FLOP/s | .0f | FLOPs over the GPU time
WITH RECURSIVE place AS (
    SELECT path_id, CASE WHEN is_module THEN title END AS module, is_module::INTEGER AS levels
    FROM module_title WHERE parent_id IS NULL
    UNION ALL
    SELECT own.path_id, CASE WHEN own.is_module AND levels < 32 THEN concat_ws('/', place.module, own.title)
        ELSE place.module END, levels + own.is_module::INTEGER
    FROM place JOIN module_title AS own ON own.parent_id = place.path_id
), spot AS MATERIALIZED (
    SELECT range.range_id, pre, post, parent_id, global_tid, start_ns, end_ns, module
    FROM range LEFT JOIN place USING (path_id)
), link AS MATERIALIZED (
    SELECT spot.range_id, spot.pre, spot.post, spot.global_tid, spot.start_ns, spot.end_ns, spot.module AS around,
        ahead.module AS forward_module
    FROM operator JOIN spot USING (range_id) JOIN spot AS ahead ON ahead.range_id = forward_range_id
), point AS MATERIALIZED (
    SELECT pre, sum(ns) AS ns, sum(flops) AS flops FROM (
        SELECT pre, ns, NULL AS flops FROM selected_launched
        UNION ALL SELECT pre, NULL, flops FROM operator_instance_work SEMI JOIN selected_range USING (range_id)
    ) GROUP BY pre
), climbed AS (
    SELECT point.pre, range_id, parent_id, 1 AS levels FROM point JOIN spot USING (pre)
    WHERE global_tid IN (SELECT global_tid FROM link)
    UNION ALL
    SELECT climbed.pre, spot.range_id, spot.parent_id, levels + 1
    FROM (FROM climbed ANTI JOIN link USING (range_id)) AS climbed JOIN spot ON spot.range_id = climbed.parent_id
    WHERE levels < operator_levels()
), linked AS (
    SELECT climbed.pre, around, forward_module FROM climbed JOIN link USING (range_id)
), outer_link AS (
    SELECT * FROM (SELECT *, max(post) OVER (ORDER BY pre ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
        FROM link) WHERE reached IS NULL OR pre > reached
), part AS (
    SELECT CASE WHEN is_backward THEN forward_module ELSE module END AS module,
        CASE WHEN NOT is_backward THEN ns END AS forward_device, CASE WHEN is_backward THEN ns END AS backward_device,
        NULL AS backward_host, flops
    FROM (
        SELECT point.*, spot.module, forward_module,
            linked.pre IS NOT NULL AS is_backward
        FROM point JOIN spot ON spot.pre = point.pre
        LEFT JOIN linked ON linked.pre = point.pre AND linked.around IS NOT DISTINCT FROM spot.module
    )
    UNION ALL
    SELECT forward_module, NULL, NULL, end_ns - start_ns, NULL
    FROM outer_link SEMI JOIN selected_range USING (range_id)
), own AS MATERIALIZED (
    SELECT module, sum(forward_device) AS forward_device, sum(backward_device) AS backward_device,
        sum(backward_host) AS backward_host, sum(flops) AS flops
    FROM part WHERE module IS NOT NULL GROUP BY module
), called AS (
    SELECT module, count(*) AS calls, sum(end_ns - start_ns) AS forward_host
    FROM spot SEMI JOIN module_call USING (range_id) SEMI JOIN selected_range USING (range_id) GROUP BY module
), known AS (
    SELECT module AS inner_module, string_split(module, '/') AS steps
    FROM (SELECT module FROM own UNION SELECT module FROM called)
), numbered AS (
    SELECT inner_module, steps, unnest(generate_series(1, len(steps))) AS deep FROM known
), held AS (
    SELECT array_to_string(list_slice(steps, 1, deep), '/') AS module, inner_module FROM numbered
), total AS (
    SELECT held.module, coalesce(sum(forward_device), 0) AS forward_device,
        coalesce(sum(backward_device), 0) AS backward_device, coalesce(sum(backward_host), 0) AS backward_host,
        sum(flops) AS flops,
        coalesce(sum(coalesce(forward_device, 0) + coalesce(backward_device, 0)) FILTER (held.module = inner_module), 0)
            AS device_self
    FROM held LEFT JOIN own ON own.module = inner_module GROUP BY held.module
), gpu AS (
    SELECT sum(end_ns - start_ns) AS all_ns FROM (
        SELECT start_ns, end_ns FROM selected_kernel UNION ALL SELECT start_ns, end_ns FROM selected_memop
        UNION ALL SELECT start_ns, end_ns FROM selected_graph_launch
    )
), shown AS (
    SELECT *, string_split(module, '/') AS steps FROM total LEFT JOIN called USING (module) CROSS JOIN gpu
    WHERE $depth::INTEGER IS NULL OR len(string_split(module, '/')) <= $depth::INTEGER
    ORDER BY forward_device + backward_device DESC, forward_host DESC, module LIMIT $limit::BIGINT
)
SELECT module AS path, steps[-1] AS name, len(steps) - 1 AS level, coalesce(calls, 0) AS calls,
    (forward_device + backward_device)::BIGINT AS device_ns,
    100.0 * (forward_device + backward_device) / nullif(all_ns, 0) AS share_pct, device_self::BIGINT AS device_self_ns,
    forward_device::BIGINT AS forward_device_ns, backward_device::BIGINT AS backward_device_ns,
    coalesce(forward_host, 0)::BIGINT AS forward_host_ns, backward_host::BIGINT AS backward_host_ns, flops,
    1e9 * flops / nullif(forward_device + backward_device, 0) AS flops_per_s
FROM shown ORDER BY list_transform(steps, step -> (
    regexp_replace(step, '_\d+$', ''), TRY_CAST(regexp_extract(step, '_(\d{1,9})$', 1) AS BIGINT)
));
