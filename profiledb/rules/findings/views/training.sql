-- Building blocks of the rules about training: which operations a backward pass or an optimizer launched.
-- includes: idle, finding

-- Threads of PyTorch's autograd, and paths of ranges whose names tell of a backward pass.
CREATE OR REPLACE VIEW autograd_thread AS SELECT global_tid FROM thread WHERE contains(name, 'pt_autograd');
CREATE OR REPLACE VIEW backward_path AS
SELECT path_id FROM path_pattern WHERE regexp_matches(pattern, '(?i)backward|(^|[^a-z])bwd([^a-z]|$)');

CREATE OR REPLACE MACRO has_autograd_thread() AS EXISTS (FROM autograd_thread);
CREATE OR REPLACE MACRO has_backward_path() AS EXISTS (FROM backward_path);

-- Kernels, copies and memsets of the selection: whether a backward pass launched them, and how long the GPU was idle
-- before each (`waited_ns`). PyTorch's autograd launches on its own threads, named pt_autograd_0 and so on. Without
-- such threads, names of ranges around the launch decide. NULL if the launch is not known, as for work launched before
-- the capture. No rows if there are neither threads nor ranges.
CREATE OR REPLACE VIEW finding_trained AS
WITH operation AS (
    SELECT 'kernel' AS kind, kernel_id AS id, device_id, stream_id, start_ns, end_ns, name_id, call_id,
        coalesce(process_range, thread_range) AS pre, NULL::BIGINT AS bytes,
        hash(name_id, grid_x, grid_y, grid_z, block_x, block_y, block_z) AS shape
    FROM selected_kernel
    UNION ALL
    SELECT kind, memop_id, device_id, stream_id, start_ns, end_ns, NULL, call_id,
        coalesce(process_range, thread_range), bytes, NULL
    FROM selected_memop
)
SELECT operation.*, CASE
        WHEN has_autograd_thread() THEN call.global_tid IN (FROM autograd_thread)
        WHEN call_id IS NOT NULL THEN coalesce(path_id IN (FROM backward_path), false) END AS is_backward,
    greatest(0, operation.start_ns - coalesce(max(operation.end_ns) OVER (
        PARTITION BY device_id ORDER BY operation.start_ns, operation.end_ns
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), operation.start_ns)) AS waited_ns
FROM operation
LEFT JOIN (SELECT call_id, global_tid FROM api_call WHERE has_autograd_thread()) AS call USING (call_id)
LEFT JOIN (SELECT pre, path_id FROM range WHERE NOT has_autograd_thread()) AS around USING (pre)
WHERE has_autograd_thread() OR has_backward_path();

-- Kernels of a backward pass that repeat those of the forward pass, with the same grid and block. Kernels that only a
-- forward pass has (normalization, softmax, attention, activations, dropout, by their names) identify them: if at least
-- `least_pct` percent of their launches recur, they count, and with them the kernels beside them that follow each other
-- as in the forward pass.
CREATE OR REPLACE MACRO finding_recomputed(least_pct) AS TABLE
WITH trained AS MATERIALIZED (
    SELECT * FROM finding_trained WHERE kind = 'kernel' AND is_backward IS NOT NULL
), forward_name AS (  -- kernels that only a forward pass runs
    SELECT name_id FROM kernel_name WHERE NOT is_fused(demangled)
        AND NOT regexp_matches(demangled, '(?i)backward|grad|bwd|bprop|(^|[^a-z])bw_')
        AND (class IN ('attention', 'normalization', 'softmax', 'random') OR class = 'elementwise' AND regexp_matches(
            demangled,
            '(?i)gelu|silu|[^a-z]s?elu_|mish|hardswish|softplus|leaky_?relu|tanh_kernel|launch_clamp'
        ))
), repeated AS (
    SELECT least(1, sum(again) / nullif(sum(once), 0)) AS share FROM (
        SELECT count(*) FILTER (is_backward) AS again, count(*) FILTER (NOT is_backward) AS once
        FROM trained WHERE name_id IN (FROM forward_name) GROUP BY device_id, shape
    ) WHERE once > 0
), placed AS (
    SELECT *, lag(shape) OVER lane AS before, coalesce(lag(is_backward) OVER lane = is_backward, false) AS goes_on
    FROM trained WHERE (SELECT share FROM repeated) >= least_pct / 100
    WINDOW lane AS (PARTITION BY device_id, stream_id ORDER BY start_ns, id)
), follows AS MATERIALIZED (  -- pairs of consecutive kernels of the forward pass
    SELECT DISTINCT before, shape FROM placed WHERE NOT is_backward AND goes_on
), chained AS (
    SELECT placed.*, sum(CASE WHEN goes_on AND follows.shape IS NOT NULL THEN 0 ELSE 1 END) OVER (
            PARTITION BY device_id, stream_id ORDER BY start_ns, id ROWS UNBOUNDED PRECEDING
        ) AS chain
    FROM placed LEFT JOIN follows USING (before, shape) WHERE is_backward
)
SELECT * EXCLUDE (is_again) FROM (
    SELECT *, bool_or(name_id IN (FROM forward_name) AND shape IN (SELECT shape FROM trained WHERE NOT is_backward))
        OVER (PARTITION BY device_id, stream_id, chain) AS is_again
    FROM chained
) WHERE is_again;

-- Names of ranges for the update of parameters: optimizer, `Optimizer.step#AdamW.step`, adam, sgd.
CREATE OR REPLACE MACRO is_update(path) AS regexp_matches(path, '(?i)(^|[^a-z])(optimizer|optim|[nr]?adam(w|ax)?|sgd'
    || '|adagrad|adadelta|adafactor|rmsprop|rprop|lbfgs|lion|lamb|lars|muon|shampoo'
    || '|update_?(weights|params|parameters))([^a-z]|$)') AND NOT regexp_matches(path, '(?i)zero_?grad');

-- Stretches in which a thread (`tid`) updates parameters: outermost ranges named so (`is_update`) without a backward
-- pass inside, and, apart from these, the time from the last launch of a backward pass to the next launch of a product
-- or a backward pass (`pattern` is NULL), in which the optimizer works whatever the program calls it.
CREATE OR REPLACE MACRO finding_update() AS TABLE
WITH outermost AS (
    SELECT global_tid AS tid, start_ns, end_ns, pattern
    FROM selected_range JOIN (FROM path_pattern WHERE is_update(pattern)) USING (path_id)
    QUALIFY post > coalesce(max(post) OVER (ORDER BY pre ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
), product AS (SELECT name_id FROM kernel_name WHERE class IN ('matmul', 'convolution', 'attention')
), launched AS MATERIALIZED (
    SELECT pid_of(global_tid) AS pid, global_tid AS tid, call.start_ns AS s, call.end_ns AS e, is_backward,
        is_backward OR coalesce(name_id IN (FROM product), false) AS is_edge
    FROM finding_trained JOIN (SELECT call_id, global_tid, start_ns, end_ns FROM api_call) AS call USING (call_id)
), named AS MATERIALIZED (
    SELECT outermost.* FROM outermost
    ASOF LEFT JOIN (FROM launched WHERE is_backward) AS back ON back.pid = pid_of(outermost.tid) AND end_ns >= s
    WHERE coalesce(s < start_ns, true)
), numbered AS (
    SELECT *, count_if(is_edge) OVER (PARTITION BY pid ORDER BY s ROWS UNBOUNDED PRECEDING) AS part
    FROM launched
), edge AS (
    SELECT pid, part, is_backward, e, lead(s) OVER (PARTITION BY pid ORDER BY s) AS next_ns FROM numbered WHERE is_edge
), inferred AS (
    SELECT mode(numbered.tid) AS tid, any_value(edge.e) AS start_ns,
        coalesce(any_value(next_ns), max(numbered.e)) AS end_ns
    FROM numbered JOIN edge USING (pid, part) WHERE NOT is_edge AND edge.is_backward GROUP BY pid, part
)
SELECT row_number() OVER (ORDER BY tid, start_ns) AS update_id, *
FROM (FROM named UNION ALL BY NAME (
        SELECT inferred.* FROM inferred ANTI JOIN named
            ON named.tid = inferred.tid AND named.start_ns < inferred.end_ns AND named.end_ns > inferred.start_ns
    ));
