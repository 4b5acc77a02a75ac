-- title: Launching threads saturated
-- question: Are the threads that launch too slow to feed the GPU?
-- The share of the time from the first to the last operation of each GPU that is idle while the thread that launches
-- the next operation, and has not launched it yet, runs on a core, where it does so for at least `running` percent of
-- the idle time for which it is answerable; else 0. Such threads wait for nothing: they have too much to do. Where CPU
-- samples were taken meanwhile, the innermost functions of most of them tell what; the names of Python's interpreter
-- would not. Most samples in NVRTC, ptxas or LLVM tell that kernels are compiled.
-- needs: kernel or memop or graph_launch
-- needs: sched_event
-- includes: finding, idle, waiting, cpu_code, program
-- selects: part
-- once: functions, idle
-- parts: idle
-- level: symptom
-- unit: %
-- fires: above
-- param: threshold = 10 share of the time from which on it is said
-- param: running = 90 how much of the idle time the thread runs at least, percent
-- column: idle_ns | ns | | idle time of all GPUs in which the thread ran
-- column: run_pct | % | .1f | share of the idle time in which the thread ran
-- column: thread | text | | process and thread id of the thread
-- column: range | name | | range in which most of this time lies, with a star for the last number
-- column: functions | name | | up to three functions of most CPU samples that were taken meanwhile
-- column: functions_pct | % | .1f | share of the samples in them
-- column: compiling_pct | % | .1f | share of the samples in a compiler of kernels, where that is half of them
-- says: The GPU waits {value} of the time ({idle_ns}) for threads that run without a break: {compiling_pct} of the CPU samples meanwhile are in a compiler of kernels.
-- says: The GPU waits {value} of the time ({idle_ns}) for threads that run without a break ({run_pct} of the idle time on a core), most of it in {range}. CPU samples meanwhile are most often in {functions} ({functions_pct}).
-- says: The GPU waits {value} of the time ({idle_ns}) for threads that run without a break ({run_pct} of the idle time on a core). CPU samples meanwhile are most often in {functions} ({functions_pct}).
-- says: The GPU waits {value} of the time ({idle_ns}) for threads that run without a break ({run_pct} of the idle time on a core), most of it in {range}.
-- says: The GPU waits {value} of the time ({idle_ns}) for threads that run without a break ({run_pct} of the idle time on a core).
-- clear: The GPU waits {value} of the time for threads that run without a break.
-- advice: [compiling] Kernels are compiled while the program runs: run each of them once before what you measure, and keep the cache of compiled kernels between runs.
-- advice: [Python, vLLM or SGLang] -> launch_less
-- advice: [Python, else, PyTorch, not torch.compile, not CUDA graphs] Give the threads less to do in {place|the loop}: compile what is the model's own Python (`torch.compile(model, mode="reduce-overhead")`), and move data preparation, metrics and logging into other processes.
-- advice: [Python, else] Take work off the threads in {place|the loop}: data preparation, metrics and logging into other processes, or into threads that do not hold the GIL.
-- advice: [Python, CUDA graphs] Where they launch kernels beside the CUDA graphs, put these into the graphs, too.
-- advice: [Python, else, vLLM] Give them less to do: fewer, larger batches (`--max-num-batched-tokens`), the API server in processes of its own (`--api-server-count`).
-- advice: [Python, else, PyTorch, torch.compile] Where it is the model's own Python between launches, find what the compiler left out: `TORCH_LOGS="graph_breaks"`.
-- advice: [Python, else, PyTorch] Use fewer and larger operations, and larger batches: each takes Python the same time.
-- advice: [Python, else, JAX or XLA] Where it is the dispatch of steps, loop over them inside of `jax.jit` (`jax.lax.scan`).
-- advice: [Python, else, CuPy or Numba] Where they launch kernels: fewer and larger ones.
-- advice: [Python, else] Where they launch kernels: fewer and larger ones, or CUDA graphs.
-- advice: [sampled] Make {functions} faster: more threads, vectorized loops, or on the GPU. Work that does not need the GPU's last result can run while the GPU computes.
-- advice: [other, HIP] Take CPU samples (`perf record -g`): they name the functions to make faster, with more threads, vectorized, or on the GPU.
-- advice: [other, else] Take CPU samples (`nsys profile --sample=process-tree`): they name the functions to make faster, with more threads, vectorized, or on the GPU.
-- source: NAI book (thread runs > 90 % of the window); limited to what the GPU waits, own
WITH piece AS MATERIALIZED (FROM finding_idle_core()
), total AS (
    SELECT sum(core_ns)::BIGINT AS run_ns, 100.0 * sum(core_ns) / nullif(sum(ns), 0) AS run_pct FROM piece
), main AS (
    SELECT tid FROM piece GROUP BY tid ORDER BY sum(core_ns) DESC, tid LIMIT 1
), place AS (
    SELECT pattern FROM piece JOIN idle_pattern USING (pre) GROUP BY pattern ORDER BY sum(core_ns) DESC, pattern LIMIT 1
), judged AS (
    SELECT run_ns, run_pct, CASE WHEN run_pct >= $running::DOUBLE THEN run_ns WHEN run_pct IS NOT NULL THEN 0 END AS ns
    FROM total
), taken AS MATERIALIZED (FROM finding_idle_sample('piece')
), leaf AS (
    SELECT symbol_id, module_id, unresolved, count(*) AS samples FROM callchain
    WHERE kind = 'sample' AND depth = 0 AND callchain_id IN (SELECT sample_id FROM taken) GROUP BY ALL
), function AS (
    SELECT frame_name(symbol.value, module.value, unresolved) AS name, sum(samples)::BIGINT AS samples,
        regexp_matches(module.value, 'nvrtc|ptxas|nvptxcompiler|nvJitLink|libLLVM|libnvvm') AS is_compiler
    FROM leaf LEFT JOIN string AS symbol ON symbol.string_id = symbol_id
    LEFT JOIN string AS module ON module.string_id = module_id GROUP BY ALL
), named AS (
    SELECT string_agg(left(name, 60), ', ' ORDER BY share DESC, name) AS functions, 100 * sum(share) AS functions_pct
    FROM (
        SELECT name, samples / sum(samples) OVER () AS share FROM function
        QUALIFY row_number() OVER (ORDER BY samples DESC, name) <= 3
    ) WHERE NOT starts_with(name, '[') AND share >= 0.05
), compiler AS (
    SELECT 100 * sum(samples) FILTER (is_compiler) / sum(samples) AS pct FROM function
), language AS (
    SELECT EXISTS (FROM program_sign WHERE trait = 'PyTorch') OR EXISTS (
            SELECT 1 FROM string WHERE regexp_matches(value, '(^|/)(lib)?python[0-9.]*(\.so[0-9.]*)?$')
        ) AS python
), shown AS (
    SELECT core_ns, s, {
            'name': coalesce(path, 'Outside all ranges'), 'note': replace(reason, 'host code', 'non-CUDA code'),
            'ns': core_ns, 'start_ns': s, 'end_ns': e,
            'device': device_id, 'range': path
        } AS piece
    FROM (
        SELECT * REPLACE (replace(reason, 'host code', 'non-CUDA code') AS reason) FROM piece
        WHERE core_ns > 0 ORDER BY core_ns DESC, s LIMIT 10
    ) AS piece
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT CASE WHEN compiler.pct >= 50 THEN 'compiling' WHEN python THEN 'Python' WHEN functions IS NOT NULL THEN 'sampled'
        ELSE 'other' END AS cause,
    CASE WHEN compiler.pct >= 50 THEN compiler.pct END AS compiling_pct,
    CASE WHEN NOT python THEN functions END AS functions, functions_pct,
    100.0 * judged.ns / nullif(finding_window.ns, 0) AS value, judged.ns AS saving_ns, run_ns AS idle_ns, run_pct,
    CASE WHEN run_ns IS NULL THEN 'The capture has no switches of the threads that launch.' END AS unjudged,
    (SELECT thread_label(tid) FROM main) AS thread, (SELECT pattern FROM place) AS range,
    (SELECT list(piece ORDER BY core_ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN judged CROSS JOIN named CROSS JOIN language
CROSS JOIN compiler;
