-- title: Chains of elementwise kernels
-- question: Could one kernel do the work of consecutive elementwise kernels?
-- The most that fusing chains of elementwise kernels saves, as a share of the active span (first to last operation of
-- each GPU): the time of each chain without its longest kernel, because a fused kernel reads and writes once. A chain
-- is two or more elementwise kernels of a stream, less than `most_gap_ns` apart and launched in the same range, so in
-- the same step; PyTorch's operators are not such ranges. Casts and reductions beside them belong to it, because
-- compilers fuse those, too. A chain ends when its first two kernels recur, or its only one: the next round of a loop
-- starts there. The first one alone may recur in a formula (`x * x * x + y`). Kernels that a compiler or a library
-- fused (`is_fused`) belong to no chain, nor do those shorter than `least_ns`: their launches are their cost. Kernels
-- of different graphs of torch.compile, which nothing fuses, are chains of their own: it numbers the kernels of each
-- graph from 0, so different kernels with the number 0 that one thread launches in a row are graphs of one kernel
-- each. JAX without jit makes a program of XLA for each operation, named after it (jit_add, jit_multiply): kernels of
-- these are not fused, and lie in no range of their own. The cause tells of the chains with the largest total:
-- `optimizer` if one runs in a range named like an update of parameters, `casts` if casts or copies belong to them,
-- `graphs` if they are compiled graphs.
-- needs: kernel
-- includes: finding, training
-- selects: part
-- once: span, names
-- parts: elementwise, copy, normalization, reduction, optimizer
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: most_gap_ns = 5000 longest gap between two kernels of a chain
-- param: least_ns = 2000 shorter kernels do not count
-- column: saved_ns | ns | | time of all chains without their longest kernels
-- column: chains | count | | number of chains
-- column: kernels | count | | kernels in these chains
-- column: names | name | | kernels of the chain with the largest total
-- column: graphs | count | | kernels in that chain, if each is a compiled graph
-- says: {kernels} kernels follow each other in {chains} {chains|chain|chains}, mostly of {graphs} compiled graphs with one kernel each: the compiler fuses nothing across graphs. One graph instead saves at most {saved_ns} ({value} of the time).
-- says: {kernels} elementwise kernels follow each other in {chains} {chains|chain|chains}, mostly {names}. Fusing them saves at most {saved_ns} ({value} of the time).
-- says: {kernels} elementwise kernels follow each other in {chains} {chains|chain|chains}. Fusing them saves at most {saved_ns} ({value} of the time).
-- clear: Fusing chains of elementwise kernels would save {value} of the time.
-- advice: [graphs] -> one_graph
-- advice: [graphs] If functions are compiled one by one, compile the one that calls them instead.
-- advice: [not graphs] -> fuse
-- advice: [optimizer, training, PyTorch, eager, not fused optimizer] Fuse the optimizer: `torch.optim.AdamW(fused=True)`.
-- advice: [casts, PyTorch, eager] Keep one precision through these operations: casts (`.float()`, `.to(dtype)`) belong to each chain.
-- advice: [not casts, not optimizer, PyTorch, eager, not fused GELU] Use operators that are already fused: `F.gelu`, `F.layer_norm`, `F.rms_norm`.
-- advice: [not casts, not optimizer, PyTorch, eager, fused GELU] Use operators that are already fused: `F.layer_norm`, `F.rms_norm`.
-- source: TraceLens (neighbors of a stream, impact); gap and share of the time: ours, instead of its 50 repeats: a share counts long chains, too
WITH light AS (
    SELECT name_id, readable AS name, class = 'elementwise' AS computes FROM kernel_key
    WHERE NOT is_fused(coalesce(demangled, short)) AND (
            class = 'elementwise' OR (class = 'copy' AND contains(short, 'elementwise'))
            OR (class = 'reduction' AND short = 'reduce_kernel')
        )
), beginning AS (
    SELECT name_id FROM kernel_name WHERE regexp_matches(short, '^triton_(poi|red|per)_fused_\w*_0$')
), alone AS (
    SELECT name_id FROM kernel_key WHERE class IN ('elementwise', 'copy')
), named AS (
    SELECT name_id, readable AS name, class = 'elementwise' AS computes, class = 'copy' AS moves FROM kernel_key
    WHERE name_id IN (SELECT name_id FROM light) OR name_id IN (FROM alone) OR name_id IN (FROM beginning)
), started AS MATERIALIZED (  -- first kernels of compiled graphs, and the threads that launched them
    SELECT kernel_id, coalesce(global_tid, -1) AS launcher
    FROM selected_kernel SEMI JOIN beginning USING (name_id)
    LEFT JOIN (SELECT call_id, global_tid FROM api_call) USING (call_id) WHERE EXISTS (FROM beginning)
), single AS MATERIALIZED (  -- ranges around the kernels of one operation of JAX
    SELECT pre FROM range JOIN range_path USING (path_id)
    WHERE EXISTS (FROM range_name WHERE contains(name, 'hlo_module=')) AND regexp_matches(path,
            'hlo_module=jit_(_?(add|sub|subtract|mul|multiply|div|true_divide|floor_divide|remainder|neg|negative|pow'
            || '|power|integer_pow|square|sqrt|rsqrt|exp|exp2|log|log1p|expm1|sin|cos|tan|tanh|logistic|erf|abs|sign'
            || '|maximum|minimum|max|min|clip|where|select_n|less|less_equal|greater|greater_equal|equal|not_equal'
            || '|roll_static|convert_element_type|broadcast_in_dim|concatenate|floor|ceil|round|isfinite|reduce_\w+))'
            || '(,|#|/|$)')
), placed AS (
    SELECT device_id, stream_id, kernel_id, name_id, start_ns, end_ns, pre, launcher, one.light,
        start_ns - lag(end_ns) OVER lane < $most_gap_ns::BIGINT AND lag(one.light) OVER lane
            AND within = lag(within) OVER lane AND launcher = lag(launcher) OVER lane
            AND (launcher = 0 OR name_id <> lag(name_id) OVER lane) AS goes_on
    FROM (
        SELECT kernel.*, range.pre, coalesce(launcher, 0) AS launcher,
            CASE WHEN single.pre IS NOT NULL THEN -2
                ELSE coalesce(CASE WHEN operator.range_id IS NULL THEN range.pre END, -1) END AS within,
            kernel.end_ns - kernel.start_ns >= $least_ns::BIGINT AND (light.name_id IS NOT NULL
                OR started.launcher IS NOT NULL OR single.pre IS NOT NULL AND kernel.name_id IN (FROM alone)) AS light
        FROM selected_kernel AS kernel LEFT JOIN light USING (name_id)
        LEFT JOIN range ON range.pre = coalesce(process_range, kernel.thread_range)
        LEFT JOIN operator ON operator.range_id = range.range_id
        LEFT JOIN single ON single.pre = range.pre
        LEFT JOIN started ON started.kernel_id = kernel.kernel_id
    ) AS one WINDOW lane AS (PARTITION BY device_id, stream_id ORDER BY start_ns, kernel_id)
), run AS (
    SELECT placed.* EXCLUDE (light), name, computes, moves, sum(CASE WHEN goes_on THEN 0 ELSE 1 END) OVER (
            PARTITION BY device_id, stream_id ORDER BY start_ns, kernel_id ROWS UNBOUNDED PRECEDING
        ) AS number
    FROM placed JOIN named USING (name_id) WHERE placed.light
), paired AS (
    SELECT *, lead(name_id) OVER (PARTITION BY device_id, stream_id, number ORDER BY start_ns, kernel_id) AS next_id
    FROM run
), led AS (  -- the last one has no next one: it starts a round if rounds have one kernel
    SELECT *, name_id = first_value(name_id) OVER one AND coalesce(next_id, name_id) = first_value(next_id) OVER one
            AS begins
    FROM paired WINDOW one AS (PARTITION BY device_id, stream_id, number ORDER BY start_ns, kernel_id)
), member AS (
    SELECT *, count_if(begins) OVER (
            PARTITION BY device_id, stream_id, number ORDER BY start_ns, kernel_id ROWS UNBOUNDED PRECEDING
        ) AS round
    FROM led
), grouped AS (
    SELECT device_id, stream_id, count(*) AS kernels, min(start_ns) AS start_ns, max(end_ns) AS end_ns,
        greatest(0, max(end_ns) - min(start_ns) - max(end_ns - start_ns)) AS saved_ns,
        any_value(pre) AS pre, bool_or(moves) AS moves, any_value(launcher) AS launcher,
        list((start_ns, kernel_id, name)) AS run
    FROM member GROUP BY device_id, stream_id, number, round HAVING count(*) > 1 AND bool_or(computes)
), chain AS MATERIALIZED (  -- an aggregate would sort each round, most of them of one kernel
    SELECT * EXCLUDE (run), array_to_string(list_transform(list_sort(run), LAMBDA one: one[3]), ' + ') AS names
    FROM grouped
), total AS (
    SELECT least(coalesce(sum(saved_ns), 0)::BIGINT, (SELECT ns FROM finding_window)) AS saved_ns, count(*) AS chains,
        sum(kernels)::BIGINT AS kernels
    FROM chain
), alike AS (
    SELECT names, count(*) AS chains, sum(saved_ns)::BIGINT AS ns, arg_max(start_ns, saved_ns) AS start_ns,
        arg_max(end_ns, saved_ns) AS end_ns, arg_max(device_id, saved_ns) AS device_id,
        arg_max(stream_id, saved_ns) AS stream_id, arg_max(pre, saved_ns) AS pre, bool_or(moves) AS moves,
        CASE WHEN any_value(launcher) <> 0 THEN any_value(kernels) END AS graphs
    FROM chain GROUP BY names ORDER BY ns DESC, names LIMIT 10
), main AS (
    SELECT names, graphs, CASE WHEN graphs > 0 THEN 'graphs' WHEN is_update(path) THEN 'optimizer'
            WHEN moves THEN 'casts' END AS cause
    FROM alike LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
    ORDER BY ns DESC, names LIMIT 1
), shown AS (
    SELECT {
            'name': names, 'ns': ns, 'count': chains, 'start_ns': start_ns, 'end_ns': end_ns, 'device': device_id,
            'stream': stream_id
        } AS piece
    FROM alike
)
SELECT 100.0 * saved_ns / nullif(finding_window.ns, 0) AS value, saved_ns AS saving_ns, saved_ns, chains, kernels,
    main.names, main.graphs, cause,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.name) FROM shown) AS evidence
FROM finding_window CROSS JOIN total LEFT JOIN main ON true;
