-- Building blocks of the analyses behind the page "Ranges".
-- includes: selection, nsys

-- Duration from which one of the first instances looks like warm-up: above the median of the later ones by more than
-- three median absolute deviations and by more than a tenth.
CREATE OR REPLACE MACRO warmup_limit(median, deviation) AS median + greatest(3 * deviation, 0.1 * median);

-- Whether a range is a step of an inference engine (vLLM, SGLang), named after its work: "step[DECODE bs=8]",
-- "execute_context_2(888)_generation_5(5)". All of its numbers are sizes.
CREATE OR REPLACE MACRO is_engine_step(name) AS
regexp_matches(name, '^(execute_(\d+_)?context_\d+.*_generation_\d+|step\[(DECODE|EXTEND|MIXED|PREFILL|IDLE)\b)');

-- Whether a name marks a loop step (2), a group of steps (1), or neither (0): train_step, ProfilerStep#5, iter 12,
-- "epoch 1 step 3"; but not optimizer_step, load_batch or batch_norm.
CREATE OR REPLACE MACRO step_likeness(name) AS CASE
    WHEN is_engine_step(name) THEN 2
    WHEN regexp_matches(name, '^(.*[:\d])?[ _.-]*(profiler|train(ing)?|eval(uation)?|val(idation)?|test|infer(ence)?'
        || '|global|mini|micro)?[ _.-]*(step|iter|iteration|batch)s?([^a-z]*|[^a-z]+.*\d)$', 'i') THEN 2
    WHEN regexp_matches(name, '^(.*:)?[ _.-]*(profiler|train(ing)?|eval(uation)?|val(idation)?|test)?[ _.-]*epochs?'
        || '([^a-z]*|[^a-z]+.*\d)$', 'i') THEN 1
    ELSE 0
END;

-- Whether a name marks a part of a step and never a step: a data loader's next batch, a collective, an operator, a
-- compiler pass, an operation of XLA, a call of a CUDA library.
CREATE OR REPLACE MACRO is_step_part(name) AS
regexp_matches(name, '__next__|Xla(Pass|Compile|Emit|Optimize|Buffer|Memory|CreateGpu)|(^|:)Thunk:'
    || '|^(nccl|gloo|mpi|ucc|xccl|ucx|nvshmem|cccl|cu(blas|dnn|fft|solver|sparse|tensor)(lt|xt)?):'
    || '|^(aten|autograd|c10d|torch)::', 'i');

-- The hash of a graph compiled by PyTorch, and the number of a compiled region: "## Call CompiledFxGraph fud64jsr ##",
-- "Torch-Compiled Region: 0/1"; else NULL.
CREATE OR REPLACE MACRO graph_hash(name) AS nullif(regexp_extract(name, 'CompiledFxGraph (\w+)', 1), '');
CREATE OR REPLACE MACRO graph_number(name) AS
nullif(regexp_extract(name, '^Torch-Compiled Region: (\d+/\d+)', 1), '');

-- A name with a star for its last number, or for the one before a total (step 3/100): the part that stays the same
-- between steps. Digits in operator names (aten::conv2d) or hashes of compiled graphs do not count. In inference engine
-- steps all numbers count.
CREATE OR REPLACE MACRO without_number(name) AS CASE
    WHEN is_engine_step(name) THEN regexp_replace(name, '\d+', '*', 'g')
    WHEN graph_number(name) IS NOT NULL OR graph_hash(name) IS NOT NULL OR regexp_matches(name, '^aten::\w+$') THEN name
    WHEN regexp_matches(name, '\d+ ?(/|of) ?\d+\D*$') THEN regexp_replace(name, '\d+( ?(?:/|of) ?\d+\D*)$', '*\1')
    ELSE regexp_replace(name, '\d+(\D*)$', '*\1')
END;

-- Last names of paths as they appear in patterns, with a star for the last number. Compiled graphs have the number of
-- the enclosing region, and the start of their hash if that region has several or is missing.
CREATE OR REPLACE VIEW range_title AS
WITH RECURSIVE tree AS (
    SELECT path_id, parent_id, name, graph_number(name) AS region FROM range_path WHERE parent_id IS NULL
    UNION ALL
    SELECT own.path_id, own.parent_id, own.name, coalesce(graph_number(own.name), region)
    FROM tree JOIN range_path AS own ON own.parent_id = tree.path_id
), several AS (
    SELECT region FROM tree WHERE graph_hash(name) IS NOT NULL
    GROUP BY region HAVING region IS NULL OR count(DISTINCT graph_hash(name)) > 1
)
SELECT path_id, parent_id, name, CASE WHEN graph_hash(name) IS NULL THEN replace(without_number(name), '/', '\/')
    ELSE concat_ws(' ', 'compiled graph', tree.region, CASE WHEN tree.region IS NULL OR several.region IS NOT NULL
        THEN left(graph_hash(name), 8) END) END AS title
FROM tree LEFT JOIN several USING (region);

-- Ranges of the selection with their CPU and GPU times, on the GPU in a mode (thread, process). `operations` is empty
-- if the report has none in ranges.
CREATE OR REPLACE MACRO selected_timed_range(mode_of_gpu) AS TABLE
SELECT range.range_id, parent_id, path_id, pre, global_tid, style, closed, range.start_ns, range.end_ns,
    range.end_ns - range.start_ns AS cpu_ns, ran.start_ns AS gpu_start_ns, ran.end_ns - ran.start_ns AS gpu_ns,
    ran.busy_ns, ran.kernel_ns, coalesce(ran.operations, CASE WHEN has_rows('projection') THEN 0 END) AS operations
FROM selected_range AS range LEFT JOIN (FROM projection WHERE mode = mode_of_gpu) AS ran USING (range_id);

-- Instances of the paths that a text means (a path, or a name at any position), each with its number on its thread, as
-- a selection counts, and the gap to the previous one on its thread, of any path. `place` is the number among those of
-- the selection. Warm-up is, within the first third of these, the leading run above `warmup_limit` in CPU or GPU time;
-- an unclosed range says nothing about the others.
CREATE OR REPLACE MACRO selected_instances(chosen, mode_of_gpu) AS TABLE
WITH meant AS (
    SELECT path_id, path FROM range_path WHERE path = chosen
    UNION ALL SELECT path_id, path FROM range_path
    WHERE name = chosen AND NOT EXISTS (FROM range_path WHERE path = chosen)
), placed AS (
    SELECT range_id, number, before_ns, place FROM (
        SELECT range_id, selected.id, row_number() OVER lane AS number,
            lag(end_ns) OVER (PARTITION BY global_tid ORDER BY start_ns, pre) AS before_ns,
            count(selected.id) OVER (lane ROWS UNBOUNDED PRECEDING) AS place
        FROM range SEMI JOIN meant USING (path_id)
        LEFT JOIN (SELECT range_id AS id FROM selected_range) AS selected ON id = range_id
        WINDOW lane AS (PARTITION BY global_tid, path_id ORDER BY start_ns, pre)
    ) WHERE id IS NOT NULL
), instance AS MATERIALIZED (
    SELECT range.*, path, number, place, start_ns - before_ns AS gap_ns
    FROM selected_timed_range(mode_of_gpu) AS range JOIN meant USING (path_id) JOIN placed USING (range_id)
), many AS (
    SELECT global_tid, path_id, count(*) // 3 AS first_third FROM instance GROUP BY global_tid, path_id
), rest AS (
    SELECT global_tid, path_id, first_third, warmup_limit(median(cpu_ns), mad(cpu_ns)) AS cpu_limit,
        warmup_limit(median(gpu_ns), mad(gpu_ns)) AS gpu_limit
    FROM many JOIN instance USING (global_tid, path_id)
    WHERE place > first_third AND closed GROUP BY global_tid, path_id, first_third
), steady AS (
    SELECT global_tid, path_id, min(place) AS steady_from FROM rest JOIN instance USING (global_tid, path_id)
    WHERE place > first_third OR NOT (coalesce(cpu_ns > cpu_limit, false) OR coalesce(gpu_ns > gpu_limit, false))
    GROUP BY global_tid, path_id
)
SELECT instance.*, coalesce(place < steady_from, false) AS is_warmup
FROM instance LEFT JOIN steady USING (global_tid, path_id);

-- Whether distinct numbers of ranges are not counted: they have holes (tokens_512, resnet50). A capture that lost
-- events still has three of four numbers, or three of four are followed by the next one.
CREATE OR REPLACE MACRO has_holes(numbers) AS list_max(numbers) - list_min(numbers) + 1 > len(numbers) AND (
    len(numbers) < 8 OR 3 * (list_max(numbers) - list_min(numbers) + 1) > 4 * len(numbers)
        AND 4 * len(list_intersect(numbers, list_transform(numbers, LAMBDA one: one + 1))) < 3 * (len(numbers) - 1)
);

-- Names in step patterns: with a star for the number that counts, which merges the ranges of a loop. A number that
-- separates loops stays: batch_1, batch_8, batch_64 are sizes. So does every batch, and every name without a step word,
-- whose numbers have holes (`has_holes`), and every name around steps that runs different kernels for
-- different numbers: fewer than half of the kernel names are common to all. Steps, iterations and epochs always count.
CREATE OR REPLACE VIEW step_name AS
WITH RECURSIVE titled AS MATERIALIZED (FROM range_title
), starred AS (
    SELECT path_id, parent_id, name, title AS star, '' AS above FROM titled WHERE parent_id IS NULL
    UNION ALL
    SELECT own.path_id, own.parent_id, own.name, own.title, concat(parent.above, '/', parent.star)
    FROM starred AS parent JOIN titled AS own ON own.parent_id = parent.path_id
), around_step AS (
    SELECT parent_id AS path_id FROM range_path WHERE step_likeness(name) = 2
    UNION
    SELECT parent_id FROM range_path JOIN around_step USING (path_id)
), numbered AS (
    SELECT *, TRY_CAST(regexp_extract(name, '(\d{1,9})(?: ?(?:/|of) ?\d+)?\D*$', 1) AS BIGINT) AS number,
        regexp_matches(name, 'batch', 'i') AS of_batch
    FROM starred WHERE without_number(name) <> name
), size AS (
    SELECT above, star, has_holes(list(DISTINCT number)) AS has_hole
    FROM numbered
    GROUP BY above, star
    HAVING count(DISTINCT name) > 1 AND bool_or(of_batch OR step_likeness(name) = 0)
), held AS (
    SELECT path_id, above, star, name FROM numbered SEMI JOIN (FROM size WHERE NOT has_hole) USING (above, star)
    SEMI JOIN around_step USING (path_id)
    UNION
    SELECT own.path_id, above, star, held.name FROM held JOIN range_path AS own ON own.parent_id = held.path_id
), ran AS (
    SELECT above, star, kernel.name_id, count(DISTINCT held.name) AS sizes
    FROM kernel JOIN range ON pre = coalesce(process_range, thread_range) JOIN held USING (path_id)
    GROUP BY above, star, kernel.name_id
), unlike AS (
    SELECT above, star
    FROM ran
    JOIN (SELECT above, star, count(DISTINCT name) AS all_sizes FROM held GROUP BY above, star) USING (above, star)
    GROUP BY above, star HAVING 2 * count(*) FILTER (sizes = all_sizes) < count(*)
), apart AS (
    SELECT above, star FROM size WHERE has_hole UNION SELECT above, star FROM unlike
)
SELECT path_id, CASE WHEN apart.star IS NULL THEN starred.star ELSE replace(name, '/', '\/') END AS title
FROM starred LEFT JOIN apart USING (above, star);

-- Operator names of a trace. Traces of 2021 also call annotations operators: a step name without a namespace is an
-- annotation.
CREATE OR REPLACE VIEW operator_name AS
SELECT DISTINCT name FROM range_name
WHERE domain = 'operator' AND has_rows('operator') AND (step_likeness(name) = 0 OR contains(name, '::'));

-- Working times of a training, by kind: operators of its forward and backward pass, and its optimizer.
CREATE OR REPLACE VIEW training_work AS
SELECT 'forward' AS kind, pid_of(global_tid) AS pid, start_ns FROM selected_range
WHERE has_rows('operator') AND range_id IN (SELECT forward_range_id FROM operator)
UNION ALL
SELECT CASE WHEN starts_with(name, 'Optimizer.step#') THEN 'optimizer' ELSE 'backward' END, pid_of(global_tid), start_ns
FROM selected_range JOIN (
    SELECT name_id, name FROM range_name WHERE starts_with(name, 'Optimizer.step#')
        OR domain = 'operator' AND (
            starts_with(name, 'autograd::engine::evaluate_function') OR regexp_matches(name, '^\w+Backward\d*$')
        )
) USING (name_id);

-- Steps of loops: on each thread the ranges whose paths differ only in numbers that count (`step_name`). Such a pattern
-- counts as steps if its last name says so (`step_likeness`) and it has two instances or more; one of the PyTorch
-- profiler (ProfilerStep#5) always does. Otherwise it is the one pattern of the thread with at least three instances
-- that cover at least half of the time of the enclosing ranges, or of all outermost ranges of the thread except
-- warm-up; with at most one range around it, and not called a layer, block or stage, which are model parts; in a
-- training it holds work of both passes and of the optimizer (`training_work`). Operators of a trace, collectives and
-- data loader batches are not steps. Rank 1 is not warm-up, has a step name, the profiler's before others, not a batch
-- name if there are others (a batch may be a size, or a part of a step), and the most GPU time. The best loop of each
-- process leads, if it has GPU work or that of rank 1 has none. A selection that keeps only the content of counted
-- steps, or that starts after the first step of the loop, gets no second warm-up. A last step that launched nothing
-- while all others did is cut off, like one that was never closed: `torch.profiler` opens one more before it stops.
CREATE OR REPLACE MACRO selected_step(mode_of_gpu) AS TABLE
WITH RECURSIVE titled AS MATERIALIZED (  -- once, not at each level
    SELECT range_path.*, title FROM range_path JOIN step_name USING (path_id)
), pattern AS (
    SELECT path_id, name, level, path, NULL::VARCHAR AS parent, title AS pattern,
        is_warmup(name) AS warmup
    FROM titled WHERE parent_id IS NULL
    UNION ALL
    SELECT titled.path_id, titled.name, titled.level, titled.path, pattern.pattern,
        concat(pattern.pattern, '/', title), warmup OR is_warmup(titled.name)
    FROM pattern JOIN titled ON titled.parent_id = pattern.path_id
), kind AS (
    SELECT pattern, any_value(parent) AS parent, CASE
            WHEN count(*) = 1 AND graph_hash(any_value(path)) IS NULL THEN any_value(path) ELSE pattern
        END AS label,
        bool_or(warmup) AS warmup, any_value(level) AS level,
        bool_or(name IN (FROM operator_name) OR is_step_part(name)) AS is_part,
        CASE WHEN is_part THEN 0 ELSE max(step_likeness(name)) END AS likeness,
        bool_and(starts_with(name, 'ProfilerStep#')) AS of_profiler,
        bool_and(regexp_matches(name, 'batch', 'i')) AS of_batch
    FROM pattern GROUP BY pattern
), total AS (
    SELECT pattern, global_tid, count(*) AS steps, sum(cpu_ns) AS cpu_ns, sum(gpu_ns) AS gpu_ns
    FROM selected_timed_range(mode_of_gpu) AS range JOIN pattern USING (path_id) GROUP BY pattern, global_tid
), candidate AS (
    SELECT pattern, global_tid, steps, cpu_ns, gpu_ns, label, parent, warmup, level, is_part, of_profiler, of_batch,
        CASE WHEN steps > 1 OR of_profiler THEN kind.likeness ELSE 0 END AS likeness,
        sum(cpu_ns) FILTER (level = 0 AND NOT warmup) OVER (PARTITION BY global_tid) AS outer_ns
    FROM total JOIN kind USING (pattern)
), possible AS MATERIALIZED (
    SELECT candidate.* FROM candidate LEFT JOIN total AS around
        ON around.pattern = candidate.parent AND around.global_tid = candidate.global_tid
    WHERE likeness > 0 OR (SELECT max(likeness) FROM candidate) = 0 AND NOT is_part
        AND level < 2 + (SELECT min(level) FROM candidate) AND NOT regexp_matches(label, 'layer|block|stage', 'i')
        AND candidate.steps > 2 AND candidate.cpu_ns
            >= 0.5 * coalesce(around.cpu_ns, CASE WHEN parent IS NULL THEN outer_ns END)
), lap AS (
    SELECT pattern, global_tid, start_ns, end_ns FROM selected_range JOIN pattern USING (path_id)
    SEMI JOIN (FROM possible WHERE likeness = 0) USING (pattern, global_tid)
), partial AS ( -- hold less than half of the operators of a pass, or of the optimizer's steps
    SELECT pattern, global_tid FROM (
        SELECT pattern, global_tid, kind, work.start_ns FROM possible JOIN training_work AS work
            ON work.pid = pid_of(global_tid) WHERE likeness = 0
    ) AS work ASOF LEFT JOIN lap USING (pattern, global_tid, start_ns)
    GROUP BY pattern, global_tid, kind
    HAVING 2 * count(*) FILTER (work.start_ns <= lap.end_ns) < count(*)
), fit AS (
    SELECT *, row_number() OVER (
        PARTITION BY global_tid, likeness = 0
        ORDER BY warmup, coalesce(gpu_ns, 0) DESC, cpu_ns DESC, level, pattern) AS place
    FROM possible ANTI JOIN partial USING (pattern, global_tid)
), ranked AS (
    SELECT *, row_number() OVER (
        ORDER BY warmup, likeness DESC, NOT of_profiler, of_batch, coalesce(gpu_ns, 0) DESC, cpu_ns DESC, level,
            pattern, global_tid
        ) AS rank
    FROM fit WHERE likeness > 0 OR place = 1
), led AS (
    SELECT *, rank = min(rank) OVER (PARTITION BY pid_of(global_tid))
        AND (gpu_ns > 0 OR coalesce(first_value(gpu_ns) OVER (ORDER BY rank), 0) = 0) AS leads
    FROM ranked
), placed AS MATERIALIZED (
    SELECT range.*, rank, leads, label, warmup, path, name, steps, row_number() OVER lane AS number,
        start_ns - lag(end_ns) OVER lane AS gap_ns
    FROM selected_timed_range(mode_of_gpu) AS range JOIN pattern USING (path_id)
    JOIN led USING (pattern, global_tid, warmup)
    WINDOW lane AS (PARTITION BY rank ORDER BY start_ns, pre)
), whole AS MATERIALIZED (
    SELECT * REPLACE (closed AND NOT coalesce(number > 1 AND number = steps AND operations = 0
                AND count_if(operations > 0) OVER (PARTITION BY rank) = steps - 1, false) AS closed)
    FROM placed
), begun AS ( -- loops whose first step is in the selection
    SELECT rank FROM range JOIN pattern USING (path_id) JOIN led USING (pattern, global_tid)
    JOIN (SELECT rank, min(start_ns) AS first_ns FROM whole GROUP BY rank) USING (rank)
    GROUP BY rank HAVING min(range.start_ns) >= any_value(first_ns)
), rest AS (
    SELECT rank, warmup_limit(median(cpu_ns), mad(cpu_ns)) AS cpu_limit,
        warmup_limit(median(gpu_ns), mad(gpu_ns)) AS gpu_limit
    FROM whole SEMI JOIN begun USING (rank) WHERE number > steps // 3 AND closed GROUP BY rank
), steady AS (
    SELECT rank, min(number) AS steady_from FROM whole JOIN rest USING (rank)
    WHERE number > steps // 3 OR NOT (coalesce(cpu_ns > cpu_limit, false) OR coalesce(gpu_ns > gpu_limit, false))
    GROUP BY rank
)
SELECT whole.*, selected_within() <> 'steps' AND (warmup OR coalesce(number < steady_from, false)) AS is_warmup
FROM whole LEFT JOIN steady USING (rank);

-- The steps that count: whole, and not warm-up. All step counts and step times use these.
CREATE OR REPLACE MACRO selected_counted_step(mode_of_gpu) AS TABLE
FROM selected_step(mode_of_gpu) WHERE closed AND NOT is_warmup;

-- The passes of the selection: the counted steps of the leading loop of each process. A pass lasts until its range and
-- its last operation on the GPU have ended (`until_ns`).
CREATE OR REPLACE MACRO selected_pass(mode_of_gpu) AS TABLE
SELECT range_id, rank, range.pre, range.post, step.start_ns, step.cpu_ns, step.gpu_ns,
    greatest(step.end_ns, coalesce(gpu_start_ns + gpu_ns, step.end_ns)) AS until_ns
FROM selected_counted_step(mode_of_gpu) AS step JOIN range USING (range_id) WHERE leads;

-- The ranges to whose content a selection is limited: its passes (`within` is steps), or all of its ranges.
CREATE OR REPLACE MACRO selected_unit(within, mode_of_gpu) AS TABLE
SELECT range_id, pre, post, start_ns, until_ns AS end_ns FROM selected_pass(mode_of_gpu) WHERE within = 'steps'
UNION ALL
SELECT range_id, range.pre, range.post, range.start_ns,
    greatest(range.end_ns, coalesce(gpu_start_ns + gpu_ns, range.end_ns))
FROM selected_timed_range(mode_of_gpu) AS timed JOIN range USING (range_id) WHERE within = 'ranges';
