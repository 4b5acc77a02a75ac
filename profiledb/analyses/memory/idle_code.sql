-- title: CPU code during gaps of GPUs
-- Which code the CPU ran while a GPU was idle and the host was outside CUDA and the operating system ("host code" of
-- `idle_reasons`): the CPU samples that nsys took meanwhile of the thread that launched the operation after each gap,
-- by the function that they found it in. Only a thread that runs is sampled: what it waited is in no row.
-- A sample counts once for each GPU that was idle.
-- needs: kernel or memop or graph_launch
-- needs: cpu_sample
-- includes: idle, cpu_code
-- selects: part
-- param: min_ns = 2000 leave out shorter gaps
-- param: limit = 50 how many rows at most
-- column: function | text | | innermost function of the call chain; a module in brackets where it has no symbol
-- column: module | text | | file that holds this function
-- column: called_from | text | | outermost function of most of these call chains that tells of the program: neither its start-up nor the interpreter of Python; empty where the report has none
-- column: samples | count | | CPU samples in this function
-- column: share_pct | % | .1f | share of all samples in host code of gaps
-- column: time_ns = Estimated time | ns | | the samples times the usual distance of two samples of a thread (median), which all together are no longer than the host code
WITH piece AS MATERIALIZED (
    SELECT device_id, tid, s, e FROM selected_idle($min_ns::BIGINT, NULL) WHERE reason = 'host code'
), watched AS (SELECT DISTINCT device_id, tid FROM piece
), met AS MATERIALIZED (  -- pieces of a GPU do not overlap, so that the last one that begins before tells
    SELECT sample_id
    FROM (SELECT sample_id, time_ns, tid, device_id FROM cpu_sample JOIN watched ON global_tid = tid) AS sample
    ASOF JOIN piece
        ON piece.tid = sample.tid AND piece.device_id = sample.device_id AND sample.time_ns >= piece.s
    WHERE time_ns < e
), distance AS (
    SELECT median(time_ns - before_ns) AS ns
    FROM (
        SELECT time_ns, lag(time_ns) OVER (PARTITION BY global_tid ORDER BY time_ns) AS before_ns FROM cpu_sample
        WHERE global_tid IN (SELECT tid FROM watched)
    )
), worth AS (  -- of one sample
    SELECT least(ns, (SELECT sum(e - s) FROM piece) / (SELECT count(*) FROM met)) AS ns FROM distance
    WHERE ns IS NOT NULL
), frame AS MATERIALIZED (
    SELECT callchain_id AS sample_id, coalesce(depth, 0) AS depth, coalesce(symbol_id, -1) AS symbol_id,
        coalesce(module_id, -1) AS module_id, coalesce(unresolved, false) AS unresolved
    FROM callchain WHERE kind = 'sample' AND callchain_id IN (SELECT sample_id FROM met)
), named AS (  -- names are few and frames many
    SELECT symbol_id, module_id, unresolved, module_file(module.value) AS module,
        frame_name(symbol.value, module.value, unresolved) AS name, frame_rank(name, module.value) AS rank
    FROM (SELECT DISTINCT symbol_id, module_id, unresolved FROM frame)
    LEFT JOIN string AS symbol ON symbol.string_id = symbol_id
    LEFT JOIN string AS module ON module.string_id = module_id
), chain AS (  -- a row a chain, also where frames repeat
    SELECT sample_id, arg_min({function: name, module: module}, (depth, name)) AS leaf,
        arg_max(name, (rank, depth, name)) FILTER (rank > 0 AND depth > 0) AS called_from
    FROM frame JOIN named USING (symbol_id, module_id, unresolved) GROUP BY sample_id
), counted AS (
    SELECT coalesce(leaf.function, '[no symbol]') AS function, leaf.module AS module, called_from, count(*) AS samples
    FROM met LEFT JOIN chain USING (sample_id) GROUP BY ALL
), total AS (
    SELECT function, module, sum(samples)::BIGINT AS samples,
        arg_max({name: called_from}, (samples, coalesce(called_from, ''))).name AS called_from
    FROM counted GROUP BY function, module
)
SELECT function, module, called_from, samples, 100.0 * samples / (SELECT count(*) FROM met) AS share_pct,
    round(samples * (SELECT ns FROM worth))::BIGINT AS time_ns
FROM total ORDER BY samples DESC, function, module LIMIT $limit::BIGINT;
