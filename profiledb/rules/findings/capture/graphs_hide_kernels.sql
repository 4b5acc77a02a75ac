-- title: CUDA graphs hide their kernels
-- question: Were CUDA graphs traced as a whole, so that their kernels are missing?
-- The share of the selection's busy time in CUDA graphs that were traced as a whole. Their kernels are in no table:
-- classes, hot kernels and shares exclude them.
-- needs: kernel or memop or graph_launch
-- includes: finding, work
-- selects: part
-- unit: %
-- fires: above
-- weight: note
-- param: threshold = 1 fires at or above this share of the busy time
-- column: graph_ns | ns | | time of whole graphs
-- column: launches | count | | launches of graphs
-- says: {launches} CUDA {launches|graph was|graphs were} traced as a whole, so {value} of the busy time ({graph_ns}) shows no kernels.
-- clear: Whole CUDA graphs take {value} of the busy time.
-- advice: Capture again with `nsys profile --cuda-graph-trace=node` to see the kernels. That adds overhead: keep this report for times.
-- source: nsys documentation (--cuda-graph-trace); pegainfer PR #163
SELECT 0::DOUBLE AS value, 0 AS graph_ns, 0 AS launches, NULL AS evidence
FROM selected_busy HAVING sum(end_ns - start_ns) > 0 AND NOT EXISTS (FROM selected_graph_launch);

WITH graph AS MATERIALIZED (FROM selected_graph_launch
), taken AS (SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns FROM finding_union('graph')
), worked AS (SELECT sum(end_ns - start_ns)::BIGINT AS ns FROM selected_busy
), shown AS (
    SELECT {
            'name': 'graph ' || coalesce(graph_id, graph_exec_id), 'ns': sum(end_ns - start_ns)::BIGINT,
            'count': count(*), 'start_ns': min(start_ns), 'end_ns': min_by(end_ns, start_ns), 'device': device_id
        } AS piece
    FROM graph GROUP BY device_id, coalesce(graph_id, graph_exec_id) ORDER BY sum(end_ns - start_ns) DESC LIMIT 10
)
SELECT 100.0 * taken.ns / nullif(worked.ns, 0) AS value, taken.ns AS graph_ns, (SELECT count(*) FROM graph) AS launches,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.name) FROM shown) AS evidence
FROM taken CROSS JOIN worked;
