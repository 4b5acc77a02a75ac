-- title: CPU code during gaps
-- Code on the CPU while a GPU was idle and the CPU was outside CUDA and OS calls ("host code" of `idle_reasons`):
-- samples of the thread that launched the operation after each gap, by function. Python stacks are used if the report
-- has them, else CPU samples, which are only taken of running threads: waiting is then in no row. A sample counts once
-- per idle GPU.
-- page: idle
-- show: function 320, share_pct bar 120, samples, time_ns, called_from 260, module 180
-- prefetch: part
-- prefetch: steady
-- needs: kernel or memop or graph_launch
-- needs: cpu_sample or python_sample
-- includes: idle, cpu_code
-- selects: part
-- once: functions, idle
-- param: min_ns = 2000 leaves out shorter gaps
-- param: source = any (any, cpu, python) samples of the CPU, of Python, or of Python if there are some
-- param: limit = 50 at most this many rows
-- column: function | text | | innermost function of the call chain, or the module in brackets if it has no symbol
-- column: module | text | | file of this function
-- column: called_from | text | | outermost function of the program in most of these call chains, without start-up and the Python interpreter; for Python stacks, the innermost one outside installed packages; empty if the report has none
-- column: source = Samples of | text | | Python or CPU
-- column: samples | count | | samples in this function
-- column: share_pct | % | .1f | share of all samples in non-CUDA code during gaps
-- column: time_ns = Estimated time | ns | | samples × the median interval between samples of a thread; all rows together never exceed the non-CUDA code
WITH kind AS (
    SELECT $source = 'python' OR $source = 'any' AND EXISTS (FROM python_sample WHERE kind = 'sample') AS python
), piece AS MATERIALIZED (
    SELECT device_id, tid, s, e FROM selected_idle($min_ns::BIGINT, NULL) WHERE reason = 'host code'
), watched AS (SELECT DISTINCT device_id, tid FROM piece
), sample AS MATERIALIZED (
    SELECT chain_id, taken, time_ns, global_tid FROM stack_sample
    WHERE global_tid IN (SELECT tid FROM watched)
        AND source = (SELECT CASE WHEN python THEN 'python' ELSE 'cpu' END FROM kind)
), met AS MATERIALIZED (  -- gaps of a GPU do not overlap: the last one to start before decides
    SELECT chain_id
    FROM (SELECT chain_id, time_ns, tid, device_id FROM sample JOIN watched ON global_tid = tid) AS sample
    ASOF JOIN piece
        ON piece.tid = sample.tid AND piece.device_id = sample.device_id AND sample.time_ns >= piece.s
    WHERE time_ns < e
), distance AS (
    SELECT median(time_ns - before_ns) AS ns
    FROM (SELECT time_ns, lag(time_ns) OVER (PARTITION BY global_tid ORDER BY time_ns) AS before_ns FROM sample)
), worth AS (  -- of one sample
    SELECT least(ns, (SELECT sum(e - s) FROM piece) / (SELECT count(*) FROM met)) AS ns FROM distance
    WHERE ns IS NOT NULL
), frame AS MATERIALIZED (
    SELECT callchain_id AS chain_id, coalesce(depth, 0) AS depth, coalesce(symbol_id, -1) AS symbol_id,
        coalesce(module_id, -1) AS module_id, coalesce(unresolved, false) AS unresolved
    FROM callchain
    WHERE kind = 'sample' AND NOT (SELECT python FROM kind) AND callchain_id IN (SELECT chain_id FROM met)
), named AS (  -- names are few and frames many
    SELECT symbol_id, module_id, unresolved, module_file(module.value) AS module,
        frame_name(symbol.value, module.value, unresolved) AS name, frame_rank(name, module.value) AS rank
    FROM (SELECT DISTINCT symbol_id, module_id, unresolved FROM frame)
    LEFT JOIN string AS symbol ON symbol.string_id = symbol_id
    LEFT JOIN string AS module ON module.string_id = module_id
), chain AS (  -- one row per chain, even if frames repeat
    SELECT chain_id, arg_min({function: name, module: module}, (depth, name)) AS leaf,
        arg_max(name, (rank, depth, name)) FILTER (rank > 0 AND depth > 0) AS called_from
    FROM frame JOIN named USING (symbol_id, module_id, unresolved) GROUP BY chain_id
    UNION ALL
    SELECT stack_id, arg_min({function: "function", module: module_file(file)}, depth),
        arg_min("function", depth) FILTER (depth > 0 AND NOT is_installed(file))
    FROM python_frame WHERE (SELECT python FROM kind) AND stack_id IN (SELECT chain_id FROM met)
    GROUP BY stack_id
), counted AS (
    SELECT coalesce(leaf.function, '[no symbol]') AS function, leaf.module AS module, called_from, count(*) AS samples
    FROM met LEFT JOIN chain USING (chain_id) GROUP BY ALL
), total AS (
    SELECT function, module, sum(samples)::BIGINT AS samples,
        arg_max({name: called_from}, (samples, coalesce(called_from, ''))).name AS called_from
    FROM counted GROUP BY function, module
)
SELECT function, module, called_from, CASE WHEN python THEN 'Python' ELSE 'CPU' END AS source, samples,
    100.0 * samples / (SELECT count(*) FROM met) AS share_pct,
    round(samples * (SELECT ns FROM worth))::BIGINT AS time_ns
FROM total CROSS JOIN kind ORDER BY samples DESC, function, module LIMIT $limit::BIGINT;
