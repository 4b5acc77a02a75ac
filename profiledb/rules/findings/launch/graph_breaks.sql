-- title: Kernels between CUDA graphs
-- question: Does the GPU wait for kernels launched one by one although the program uses CUDA graphs?
-- The share of each GPU's active span (first to last operation) that it is idle in gaps of up to `gap_ns` before
-- kernels, copies and memsets launched one by one, if the selection also launches CUDA graphs. Each such launch is a
-- break between graphs; a copy for each graph and no kernel is its input or result. Without graphs the rule cannot
-- judge.
-- needs: api_call
-- needs: kernel or graph_launch
-- includes: finding, idle
-- selects: part
-- once: span, functions, idle
-- parts: launch call, launch latency, host code, between operations
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: gap_ns = 1000000 longer gaps do not count
-- column: graphs | count | | CUDA graph launches
-- column: single | count | | kernels launched one by one
-- column: idle_ns | ns | | idle time of all GPUs before single operations
-- column: range | name | | range with most of this time; * stands for its last number
-- says: Outside its {graphs} CUDA {graphs|graph|graphs} the program launches {single} {single|kernel|kernels} one by one: the GPU waits for them {value} of the time ({idle_ns}), mostly in {range}.
-- says: Outside its {graphs} CUDA {graphs|graph|graphs} the program launches {single} {single|kernel|kernels} one by one: the GPU waits for them {value} of the time ({idle_ns}).
-- says: Outside its {graphs} CUDA {graphs|graph|graphs} the program launches copies and memsets one by one: the GPU waits for them {value} of the time ({idle_ns}).
-- clear: Outside its {graphs} CUDA {graphs|graph|graphs} the program launches {single} {single|kernel|kernels} one by one; the GPU waits for them {value} of the time.
-- clear: All kernels run in CUDA graphs ({graphs} {graphs|launch|launches}).
-- advice: [vLLM] Have vLLM capture whole batches: `cudagraph_mode` `FULL_AND_PIECEWISE`, with capture sizes that hold your batches, so that none runs outside of the graphs.
-- advice: [else, SGLang] Have SGLang capture the batches that run outside of graphs: a larger `--cuda-graph-max-bs`.
-- advice: [else, JAX or XLA] Call all of {part|the step} in one `jax.jit`, the optimizer's update included: outside of it JAX runs each operation by itself. Of small compiled functions XLA makes graphs with `XLA_FLAGS=--xla_gpu_graph_min_graph_size=1`.
-- advice: [else, torch.compile] Compile what runs outside of the graphs in {part|the step}, too: `TORCH_LOGS="graph_breaks,recompiles,cudagraphs"` names it. `.item()`, prints and shapes that depend on data break graphs.
-- advice: [else, PyTorch] Capture what runs outside of the graphs in {part|the step}, too: no `.item()`, prints or shapes that depend on data in between.
-- advice: [else] Capture the kernels in {part|the step} that run outside of the graphs, too.
-- advice: Pad inputs to a few shapes, and capture one graph for each.
-- source: TensorRT-LLM (graph coverage; eager launches between graphs are breaks); idle time instead of a kernel count: ours
SELECT NULL AS value, 'The selection launches no CUDA graph.' AS unjudged, 0 AS saving_ns, 0 AS idle_ns, 0 AS graphs,
    (SELECT nullif(count(*), 0) FROM selected_single_kernel) AS single, NULL AS range, NULL AS evidence
FROM selected_api_call JOIN (FROM api_function WHERE call_kind = 'graph launch') USING (name_id) HAVING count(*) = 0;

WITH launched AS (
    SELECT count(*) FILTER (call_kind = 'graph launch') AS graphs
    FROM selected_api_call JOIN api_function USING (name_id)
), single AS (
    SELECT count(*) AS single FROM selected_single_kernel
), gap AS MATERIALIZED (
    SELECT gap_id, any_value(device_id) AS device_id, any_value(start_ns) AS start_ns,
        any_value(duration_ns) AS duration_ns, arg_max(pre, ns) AS pre
    FROM selected_idle(2000, NULL) WHERE duration_ns <= $gap_ns::BIGINT AND next.call_id IS NOT NULL
        AND next.call_id NOT IN (SELECT call_id FROM graph_call) AND (SELECT graphs FROM launched) > 0
        AND ((SELECT single FROM single) > 0 OR (SELECT count(*) FROM selected_memop) > (SELECT graphs FROM launched))
    GROUP BY gap_id
), total AS (
    SELECT coalesce(sum(duration_ns), 0)::BIGINT AS ns FROM gap
), main AS (
    SELECT pattern FROM gap LEFT JOIN idle_pattern USING (pre) GROUP BY pattern
    ORDER BY sum(duration_ns) DESC, pattern LIMIT 1
), shown AS (
    SELECT duration_ns, gap_id, {
            'name': coalesce(path, 'Outside all ranges'), 'ns': duration_ns, 'start_ns': gap.start_ns,
            'end_ns': gap.start_ns + duration_ns, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM gap ORDER BY gap_id LIMIT 10) AS gap
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT CASE WHEN graphs > 0 THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN graphs = 0 THEN 'The selection launches no CUDA graph.' END AS unjudged, total.ns AS saving_ns,
    total.ns AS idle_ns, graphs, nullif(single, 0) AS single, (SELECT pattern FROM main) AS range,
    (SELECT list(piece ORDER BY gap_id) FROM shown) AS evidence
FROM finding_window CROSS JOIN launched CROSS JOIN single CROSS JOIN total;
