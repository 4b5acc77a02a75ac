-- title: Launching threads saturated
-- question: Are the launching threads too busy to feed the GPU?
-- The share of each GPU's active span (first to last operation) that it is idle while the thread that has yet to launch
-- the next operation runs on a core; 0 unless it runs for at least `running` percent of the idle time attributed to it.
-- Such threads wait for nothing: they have too much to do. CPU samples of this time name the most frequent innermost
-- functions, except in Python programs, where they would name the interpreter. If most samples are in NVRTC, ptxas or
-- LLVM, kernels are being compiled; if many are in MPI, the thread polls for messages. Gaps of `long_ns` or more, which
-- do not come from feeding the GPU (`long_gaps`), count only then, or if samples name functions.
-- needs: kernel or memop or graph_launch
-- needs: sched_event
-- includes: finding, idle, waiting, cpu_code, program
-- selects: part
-- once: span, functions, idle, signs
-- parts: launch_bound
-- parts: idle
-- level: symptom
-- unit: %
-- fires: above
-- param: threshold = 10 fires at or above this share of the active span
-- param: running = 90 the thread must run for at least this share of the idle time, percent
-- param: long_ns = 500000000 gaps from this length on count only if samples tell what the CPU does
-- param: polling = 20 share of the CPU samples in MPI from which the thread counts as waiting for other ranks, percent
-- column: idle_ns | ns | | idle time of all GPUs while the thread runs
-- column: run_pct | % | .1f | share of the idle time in which the thread runs
-- column: thread | text | | process and thread id of the thread
-- column: range | name | | range with most of this time, if that is at least half; * stands for its last number
-- column: functions | name | | up to three functions with the most CPU samples of this time
-- column: functions_pct | % | .1f | share of the samples in these functions
-- column: compiling_pct | % | .1f | share of the samples in a kernel compiler, if at least half
-- column: mpi_pct | % | .1f | share of the samples in functions of MPI, if at least `polling`
-- says: The CPU is the bottleneck: the GPU waits {value} of the time ({idle_ns}) for threads that run without a pause; {compiling_pct} of the CPU samples meanwhile are in a compiler of kernels.
-- says: The GPU waits {value} of the time ({idle_ns}) for threads that run without a pause, but {mpi_pct} of the CPU samples meanwhile are in MPI, which polls for messages from other ranks.
-- says: The CPU is the bottleneck, mostly in {range}: the GPU waits {value} of the time ({idle_ns}) for threads that run {run_pct} of that time without a pause. CPU samples meanwhile are most often in {functions} ({functions_pct}).
-- says: The CPU is the bottleneck: the GPU waits {value} of the time ({idle_ns}) for threads that run {run_pct} of that time without a pause. CPU samples meanwhile are most often in {functions} ({functions_pct}).
-- says: The CPU is the bottleneck, mostly in {range}: the GPU waits {value} of the time ({idle_ns}) for threads that run {run_pct} of that time without a pause.
-- says: The CPU is the bottleneck: the GPU waits {value} of the time ({idle_ns}) for threads that run {run_pct} of that time without a pause.
-- clear: The GPU waits {value} of the time for threads that run without a pause.
-- advice: [compiling] The program compiles kernels while it runs. Run each kernel once before the part you measure, and keep the cache of compiled kernels between runs.
-- advice: [Python, vLLM or SGLang or CuPy or Numba] -> launch_less
-- advice: [Python, else, PyTorch, not torch.compile, not CUDA graphs] Give the threads less to do in {range|the loop}: compile the model (`torch.compile(model, mode="reduce-overhead")`), and move data preparation, metrics and logging into other processes.
-- advice: [Python, else] Take work off the threads in {range|the loop}: data preparation, metrics and logging into other processes, or into threads that do not hold the GIL.
-- advice: [Python, CUDA graphs] If they launch kernels outside the CUDA graphs, put these into the graphs, too.
-- advice: [Python, else, vLLM] Give them less to do: fewer, larger batches (`--max-num-batched-tokens`), the API server in processes of its own (`--api-server-count`).
-- advice: [Python, else, PyTorch, torch.compile] If the model's own Python takes this time, find out what the compiler left out: `TORCH_LOGS="graph_breaks"`.
-- advice: [Python, else, PyTorch] Use fewer and larger operations, and larger batches: Python takes the same time for each.
-- advice: [Python, else, JAX or XLA] If dispatching steps takes this time, loop over them inside `jax.jit` (`jax.lax.scan`).
-- advice: [Python, else, not CuPy, not Numba] Launch fewer and larger kernels, or use CUDA graphs.
-- advice: [polling] Balance the work of the ranks, and send while the GPU computes: `MPI_Isend` and `MPI_Irecv` early, `MPI_Wait` where the data is needed.
-- advice: [sampled] Speed up {functions} with more threads or vectorized loops, or run them on the GPU. Work that does not need the GPU's last result can run while the GPU computes.
-- advice: [other, HIP] Take CPU samples (`perf record -g`): they name the functions to speed up with more threads, vectorized loops or the GPU.
-- advice: [other, else] Take CPU samples (`nsys profile --sample=process-tree`): they name the functions to speed up with more threads, vectorized loops or the GPU.
-- source: nsys-ai book (thread runs > 90 % of the window); limited to GPU idle time: ours
WITH every AS MATERIALIZED (
    SELECT *, sum(ns) OVER (PARTITION BY gap_id) AS gap_ns FROM finding_idle_core()
), taken AS MATERIALIZED (FROM finding_idle_sample('every')
), leaf AS (
    SELECT symbol_id, module_id, unresolved, count(*) AS samples FROM callchain
    WHERE kind = 'sample' AND depth = 0 AND callchain_id IN (SELECT sample_id FROM taken) GROUP BY ALL
), function AS (
    SELECT frame_name(symbol.value, module.value, unresolved) AS name, sum(samples)::BIGINT AS samples,
        regexp_matches(module.value, 'nvrtc|ptxas|nvptxcompiler|nvJitLink|libLLVM|libnvvm') AS is_compiler,
        regexp_matches(symbol.value, '^(uc[tps]_|opal_|ompi_|mca_|PMPI_|MPI_|MPID|psm2?_|fi_)') AS is_mpi
    FROM leaf LEFT JOIN string AS symbol ON symbol.string_id = symbol_id
    LEFT JOIN string AS module ON module.string_id = module_id GROUP BY ALL
), named AS (
    SELECT string_agg(left(name, 60), ', ' ORDER BY share DESC, name) AS functions, 100 * sum(share) AS functions_pct
    FROM (
        SELECT name, samples / sum(samples) OVER () AS share FROM function
        QUALIFY row_number() OVER (ORDER BY samples DESC, name) <= 3
    ) WHERE NOT starts_with(name, '[') AND share >= 0.05
), compiler AS (
    SELECT 100 * sum(samples) FILTER (is_compiler) / sum(samples) AS pct,
        100 * sum(samples) FILTER (is_mpi) / sum(samples) AS mpi_pct
    FROM function
), language AS (
    SELECT EXISTS (FROM program_sign WHERE trait = 'PyTorch')
        OR EXISTS (FROM report WHERE regexp_matches(command, '(^|[ /])python[0-9.]*( |$)')) OR EXISTS (
            SELECT 1 FROM string WHERE regexp_matches(value, '(^|/)(lib)?python[0-9.]*(\.so[0-9.]*)?$')
                AND value NOT IN (SELECT name FROM process ANTI JOIN program_process USING (global_pid, name))
        ) AS python
), known AS (  -- what the CPU does
    SELECT CASE WHEN pct >= 50 THEN 'compiling' WHEN mpi_pct >= $polling::DOUBLE THEN 'polling'
            WHEN python THEN 'Python' WHEN functions IS NOT NULL THEN 'sampled' ELSE 'other' END AS cause
    FROM compiler CROSS JOIN named CROSS JOIN language
), piece AS MATERIALIZED (
    SELECT every.* FROM every CROSS JOIN known WHERE gap_ns < $long_ns::BIGINT OR cause NOT IN ('Python', 'other')
), total AS (
    SELECT sum(core_ns)::BIGINT AS run_ns, 100.0 * sum(core_ns) / nullif(sum(ns), 0) AS run_pct FROM piece
), main AS (
    SELECT tid FROM piece GROUP BY tid ORDER BY sum(core_ns) DESC, tid LIMIT 1
), place AS (
    SELECT pattern FROM piece JOIN idle_pattern USING (pre) GROUP BY pattern
    HAVING 2 * sum(core_ns) >= (SELECT run_ns FROM total) ORDER BY sum(core_ns) DESC, pattern LIMIT 1
), judged AS (
    SELECT run_ns, run_pct, CASE WHEN run_pct >= $running::DOUBLE THEN run_ns WHEN EXISTS (FROM every) THEN 0 END AS ns
    FROM total
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
SELECT known.cause,
    known.cause = 'sampled' AS is_cause,
    CASE WHEN compiler.pct >= 50 THEN compiler.pct END AS compiling_pct,
    CASE WHEN compiler.pct >= 50 OR mpi_pct < $polling::DOUBLE THEN NULL ELSE mpi_pct END AS mpi_pct,
    CASE WHEN NOT python THEN functions END AS functions, functions_pct,
    100.0 * judged.ns / nullif(finding_window.ns, 0) AS value, judged.ns AS saving_ns, run_ns AS idle_ns, run_pct,
    CASE WHEN NOT EXISTS (FROM every) THEN 'The capture has no switches of the threads that launch.' END AS unjudged,
    (SELECT thread_label(tid) FROM main) AS thread, (SELECT pattern FROM place) AS range,
    (SELECT list(piece ORDER BY core_ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN judged CROSS JOIN named CROSS JOIN language
CROSS JOIN compiler CROSS JOIN known;
