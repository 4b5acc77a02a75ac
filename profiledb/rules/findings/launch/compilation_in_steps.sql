-- title: Compilation in steps
-- question: Does the program keep compiling or loading kernels after it has warmed up?
-- The share of each GPU's active span (first to last operation) that it is idle in steps that load kernel modules,
-- above the median of the steps that load none, if any. Compilers at run time (torch.compile, Triton, NVRTC, JAX) load
-- a module for each new kernel. Idle time counts while the launching thread runs code of its own, is in an OS call, or
-- loads. At least `steps` of the steps that count must load a module: a single load belongs to the start. Compilers
-- cache on disk, so another run may take less.
-- needs: range
-- needs: api_call
-- includes: finding, idle, waiting, memory
-- selects: part
-- once: functions, idle, finding_steps
-- parts: host code, OS runtime call, module loading
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: steps = 3 fewest steps that must load modules
-- column: loading | count | | steps that load modules
-- column: steps | count | | steps that count
-- column: modules | count | | modules that these steps load
-- column: idle_ns | ns | | idle time of these steps above that of the others
-- says: {loading} of {steps} steps load new kernels ({modules} {modules|module|modules}): the GPU waits {idle_ns} ({value} of the time) for code that compiles or loads.
-- clear: The GPU waits {value} of the time in steps that load new kernels.
-- advice: [torch.compile] Find out why the compiler runs again: `TORCH_LOGS=recompiles`. Mark sizes that change (`torch._dynamo.mark_dynamic`, `dynamic=True`), or pad them to a few sizes.
-- advice: [torch.compile] Keep numbers that change in each step (a learning rate, a step count) in tensors: a Python number is a constant of the compiled code.
-- advice: [else, vLLM or SGLang] Warm up with the batch sizes and lengths that you serve, before the first request: each new one loads or compiles kernels.
-- advice: [else, PyTorch] Run every shape once before the loop, or pad inputs to a few sizes: each new shape loads other kernels.
-- advice: [else, JAX or XLA] Find out why XLA compiles again: `jax.config.update("jax_explain_cache_misses", True)`. Pad inputs to a few shapes, and pass Python numbers as arrays instead of `static_argnums`.
-- advice: [else, TensorFlow] Trace once: an `input_signature` for the `tf.function`, tensors instead of Python numbers as arguments, inputs padded to a few shapes.
-- advice: [else, CuPy] Build each `RawKernel`, `ElementwiseKernel` and fused function once, outside of the loop: new source text or types compile anew.
-- advice: [else, Numba] Compile before the loop: an explicit signature (`@cuda.jit("void(float32[:])")`) and arguments of the same types each time.
-- advice: [else] Compile all variants before the loop, and keep the compiled modules.
-- source: ours; PyTorch's recompilation guide. Pair on H100: a function compiled for 17 sizes in 20 steps
WITH step AS MATERIALIZED (FROM finding_step
), loaded AS MATERIALIZED (
    SELECT pid_of(global_tid) AS pid, start_ns AS t FROM api_call JOIN api_function USING (name_id)
    WHERE category = 'module loading' AND function NOT LIKE '%Unload%' AND function NOT LIKE '%Mode'
), held AS (
    SELECT step.pid, number, count(*) AS modules
    FROM loaded ASOF JOIN step ON loaded.pid = step.pid AND loaded.t >= step.start_ns
    WHERE loaded.t < step.end_ns GROUP BY step.pid, number
), idle AS (
    SELECT step.pid, number, piece.ns FROM (
        SELECT pid_of(tid) AS pid, s, ns FROM selected_idle(2000, NULL)
        WHERE tid IS NOT NULL AND reason IN ('host code', 'OS runtime call', 'module loading')
    ) AS piece ASOF JOIN step ON piece.pid = step.pid AND piece.s >= step.start_ns
    WHERE piece.s < step.end_ns
), told AS MATERIALIZED (
    SELECT step.number, path, start_ns, end_ns, coalesce(modules, 0) AS modules, coalesce(idle.ns, 0)::BIGINT AS idle_ns
    FROM step LEFT JOIN held USING (pid, number)
    LEFT JOIN (SELECT pid, number, sum(ns) AS ns FROM idle GROUP BY pid, number) AS idle USING (pid, number)
), usual AS (
    SELECT count(*) AS steps, count(*) FILTER (modules > 0) AS loading, sum(modules)::BIGINT AS modules,
        coalesce(median(idle_ns) FILTER (modules = 0), 0) AS idle_ns
    FROM told
), slow AS MATERIALIZED (
    SELECT path, start_ns, end_ns, told.modules, greatest(0, told.idle_ns - usual.idle_ns)::BIGINT AS ns
    FROM told CROSS JOIN usual WHERE told.modules > 0 AND loading >= $steps::BIGINT
), total AS (SELECT coalesce(sum(ns), 0)::BIGINT AS ns FROM slow
), shown AS (
    SELECT ns, start_ns, {
            'name': path, 'ns': ns, 'count': modules, 'start_ns': start_ns, 'end_ns': end_ns, 'range': path
        } AS piece
    FROM slow ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT CASE WHEN steps >= 4 THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN steps < 4 THEN 'The selection has fewer than 4 steps.' END AS unjudged,
    total.ns AS saving_ns, total.ns AS idle_ns, loading, steps, modules,
    (SELECT list(piece ORDER BY ns DESC, start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN usual;
