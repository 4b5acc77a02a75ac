-- title: Host work that the GPU waits for
-- question: Could CPU work between launches overlap the GPU's work?
-- The share of each GPU's active span (first to last operation) that it is idle while the thread that launches the next
-- operation runs code of its own (no CUDA call) directly in one range, outside nested ranges. The range with the most
-- such time counts, among those during which the GPUs are idle for at least half of the time: others only surround the
-- cause. Gaps shorter than `least_ns` do not count: they come from launching. Ranges named like data loading have their
-- own rule, and what XLA does to launch a graph (command_buffer::update) is no work of the program. Ranges that launch
-- `kernels` or more each cannot wait until the next step is launched, as an optimizer cannot; nor can one with `most`
-- gaps or more each time, even if it is a step: its work lies between the launches. The cause is `one gap` if one gap
-- each time holds half of the idle time or more, unless the range is named like an update of parameters. It is
-- `unnamed gap` if that range is a step, the thread is in no OS call for half of the time, and the report has neither
-- CPU samples nor stacks of Python: then nothing says which code of the step that is. Another range that reaches the
-- threshold by itself is the second place of the same work: it counts, too. Further ones are explained, but not part of
-- the value or the saving.
-- needs: kernel or memop or graph_launch
-- needs: range
-- includes: finding, idle, waiting, training, ranges
-- selects: part
-- once: span, functions, idle, steps, finding_steps
-- parts: host code, OS runtime call
-- level: place
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_ns = 100000 shorter gaps do not count
-- param: kernels = 2 kernels that a range launches each time from which its work cannot wait
-- param: most = 10 gaps each time from which the work of a step lies between its launches
-- column: range | name | | the range; * stands for its last number
-- column: function | name | | OS call in which the CPU is for at least half of that time
-- column: idle_ns | ns | | idle time of all GPUs in it
-- column: second | name | | the range with the second most such time that reaches the threshold by itself, if any
-- column: second_ns | ns | | idle time of all GPUs in it
-- column: gaps | count | | gaps during which it is open
-- column: exposed_pct | % | .1f | share of the time of these ranges in which the GPU is idle
-- says: The GPU waits {value} of the time while the CPU is in {function} in {range} ({idle_ns}), and works in {second} ({second_ns}).
-- says: The GPU waits {value} of the time while the CPU works in {range} ({idle_ns}) and in {second} ({second_ns}).
-- says: The GPU waits {value} of the time ({idle_ns}) while the CPU is in {function} in {range}.
-- says: The GPU waits {value} of the time ({idle_ns}) while the CPU works in {range}.
-- clear: No range of the program keeps the GPU waiting for more than {value} of the time.
-- advice: [unnamed gap, CUDA C++ or Fortran] Find out first which code of {place} this is: no range and no sample tells. Capture it with CPU samples (`nsys profile --sample=process-tree --backtrace=dwarf`).
-- advice: [unnamed gap, not CUDA C++, not Fortran] Find out first which code of {place} this is: no range and no sample tells. Capture it with stacks of Python (`warpdeck profile --with python`, `nsys profile --python-sampling=true`). It is often input that this thread makes, `gc.collect()`, a callback, metrics, or a log.
-- advice: [sleep] -> wait_for_event
-- advice: [compiling] -> compile_once
-- advice: [not compiling, not sleep, vLLM or SGLang] -> launch_less
-- advice: [launches, else, JAX or XLA] -> launch_less
-- advice: [in XLA, else, JAX or XLA] Do more in each call of {place}: loop over steps inside of it with `jax.lax.scan`. Leave its first calls, which compile and load, out of the capture.
-- advice: [in XLA, else] Do more in each call of {place}.
-- advice: [not compiling, not launches, else, JAX or XLA] Dispatch the next step before {place} reads a value of this one, or waits for it (`block_until_ready()`, `float(x)`): until then JAX runs ahead of the GPU.
-- advice: [whole step, else, PyTorch, eager] Cut the Python work in {place}: compile the model (`torch.compile(model)`), and do other work (logging, metrics, input) in another thread or after the next step is launched.
-- advice: [whole step, else] Move the work in {place} off the launching thread, or do it while the GPU runs: launch the next step first, read results later.
-- advice: [one gap or unnamed gap, else, loader workers] Move the work that {place} does in one go into the loader's workers or another thread, ahead of the step, or onto the GPU.
-- advice: [one gap or unnamed gap, else, PyTorch] Move the work that {place} does in one go into another thread or process, ahead of the step (for input: `DataLoader(num_workers=4)`), or onto the GPU.
-- advice: [one gap or unnamed gap, else] Move the work that {place} does in one go into another thread or process, ahead of the step, or onto the GPU.
-- advice: [launches, else, PyTorch, eager, training, not fused optimizer] Cut the Python work between the launches of {place}: compile it (`torch.compile`); for an optimizer, `fused=True`.
-- advice: [launches, else, PyTorch, eager] Cut the Python work between the launches of {place}: compile it (`torch.compile`), or use fewer and larger operations.
-- advice: [launches, else] Do less on the CPU between the launches of {place}: fewer and larger operations.
-- advice: [not compiling, not in XLA, else] Launch the next step before {place}, or move it to another thread: the GPU has nothing queued meanwhile.
-- advice: [not compiling, not sleep, not in XLA, not whole step, not launches, not vLLM, not SGLang] Or run it only every N steps, in another process, or on the GPU.
-- change: host_code={range}
-- change: host_code={second}
-- source: TensorRT-LLM metrics 3a-3c (exposed preparation: exposed / range > 0.50 and exposed / window > 0.05)
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS explains_ns, NULL AS cause, NULL AS idle_ns, NULL AS range,
    NULL AS function, NULL AS second, NULL AS second_ns, NULL AS gaps, NULL AS exposed_pct, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (
        FROM selected_idle(2000, NULL)
        WHERE duration_ns >= $least_ns::BIGINT AND reason IN ('host code', 'OS runtime call') AND pre IS NOT NULL
    );

WITH piece AS MATERIALIZED (
    SELECT gap_id, device_id, s, e, ns, path_id, reason, function
    FROM selected_idle(2000, NULL) JOIN (SELECT pre, path_id FROM range) USING (pre)
    WHERE duration_ns >= $least_ns::BIGINT AND reason IN ('host code', 'OS runtime call')
), numbered AS MATERIALIZED (  -- numbers to group by, and each pattern tested once: names are few and pieces many
    SELECT path_id, pattern, min(path_id) OVER (PARTITION BY pattern) AS pattern_id FROM path_pattern
), work AS MATERIALIZED (
    SELECT path_id, pattern_id FROM numbered ANTI JOIN (
        SELECT pattern_id FROM numbered
        WHERE path_id = pattern_id AND (is_loading(pattern) OR regexp_matches(pattern, '(^|/)command_buffer::'))
    ) USING (pattern_id)
), by_range AS (
    SELECT pattern_id, sum(ns)::BIGINT AS ns, count(DISTINCT gap_id) AS gaps FROM piece JOIN work USING (path_id)
    GROUP BY pattern_id
), lasted AS (
    SELECT pattern_id, sum(end_ns - start_ns) AS ns FROM selected_range JOIN work USING (path_id) GROUP BY pattern_id
), waited AS (  -- ranges during which the GPUs are idle for at least half of the time
    SELECT pattern_id, pattern, by_range.ns, gaps, 100.0 * by_range.ns / lasted.ns AS exposed_pct,
        100 * by_range.ns >= $threshold::DOUBLE * finding_window.ns AS reaches
    FROM by_range JOIN lasted USING (pattern_id) JOIN numbered ON path_id = by_range.pattern_id
    CROSS JOIN finding_window
    WHERE 2 * by_range.ns >= lasted.ns * finding_window.gpus
), main AS (
    FROM waited ORDER BY ns DESC, pattern LIMIT 1
), other AS (
    SELECT pattern, ns FROM waited ANTI JOIN main USING (pattern_id) WHERE reaches
), further AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns FROM other
), second AS (
    FROM other ORDER BY ns DESC, pattern LIMIT 1
), called AS (
    SELECT function FROM piece JOIN work USING (path_id) JOIN main USING (pattern_id) WHERE reason = 'OS runtime call'
    GROUP BY function, main.ns HAVING 2 * sum(piece.ns) >= main.ns ORDER BY sum(piece.ns) DESC, function LIMIT 1
), whole AS (  -- ranges that are steps
    SELECT DISTINCT pattern FROM selected_range JOIN path_pattern USING (path_id)
    SEMI JOIN finding_step USING (start_ns, end_ns)
), within AS (
    SELECT path_id, numbered.pattern = main.pattern AS is_main FROM numbered
    JOIN main ON numbered.pattern = main.pattern OR starts_with(numbered.pattern, main.pattern || '/')
), counted AS (
    SELECT count(*) AS ranges FROM selected_range JOIN (FROM within WHERE is_main) USING (path_id)
), longest AS (  -- the longest gaps, one for each range
    SELECT coalesce(sum(ns), 0) AS ns FROM (
        SELECT sum(ns) AS ns, row_number() OVER (ORDER BY sum(ns) DESC) AS place
        FROM piece WHERE path_id IN (SELECT path_id FROM work JOIN main USING (pattern_id)) GROUP BY gap_id
    ) CROSS JOIN counted WHERE place <= ranges
), launched AS (  -- operations that the ranges and those inside of them launch, and gaps in them
    SELECT kernels >= $kernels::INTEGER * ranges AS launches,
        gaps >= $most::INTEGER * ranges AS between_launches,
        gaps >= ranges AND 2 * longest.ns >= main.ns AS in_one_gap
    FROM main CROSS JOIN longest CROSS JOIN counted CROSS JOIN (
        SELECT count(*) AS kernels FROM selected_kernel JOIN (SELECT pre, path_id FROM range) ON pre = process_range
        JOIN within USING (path_id)
    )
), shown AS (
    SELECT gap_id, sum(ns)::BIGINT AS ns, {
            'name': arg_max(path, ns), 'ns': sum(ns)::BIGINT, 'start_ns': min(s), 'end_ns': max(e),
            'device': any_value(device_id), 'range': arg_max(path, ns)
        } AS piece
    FROM piece JOIN range_path USING (path_id)
    WHERE path_id IN (SELECT path_id FROM work JOIN main USING (pattern_id))
    GROUP BY gap_id ORDER BY ns DESC, gap_id LIMIT 10
)
SELECT 100.0 * (coalesce(main.ns, 0) + coalesce(second.ns, 0)) / nullif(finding_window.ns, 0) AS value,
    coalesce(main.ns, 0) + coalesce(second.ns, 0) AS saving_ns, coalesce(main.ns, 0) + further.ns AS explains_ns,
    CASE WHEN is_compiling(main.pattern) THEN 'compiling'
        WHEN is_sleeping((SELECT function FROM called)) THEN 'sleep'
        WHEN launches AND between_launches AND NOT in_one_gap THEN 'launches'
        WHEN is_compiled_by_xla(main.pattern) THEN 'in XLA'
        WHEN launches AND in_one_gap AND NOT is_update(main.pattern) THEN CASE
                WHEN main.pattern IN (FROM whole) AND (SELECT function FROM called) IS NULL
                    AND NOT has_rows('cpu_sample') AND NOT has_rows('python_call')
                    AND NOT has_rows('python_sample') THEN 'unnamed gap'
                ELSE 'one gap'
            END
        WHEN main.pattern IN (FROM whole) THEN 'whole step' WHEN launches THEN 'launches' END AS cause,
    main.ns AS idle_ns, main.pattern AS range, (SELECT function FROM called) AS function,
    second.pattern AS second, second.ns AS second_ns, gaps,
    exposed_pct / gpus AS exposed_pct,
    (SELECT list(piece ORDER BY ns DESC, gap_id) FROM shown) AS evidence
FROM finding_window CROSS JOIN further LEFT JOIN main ON true LEFT JOIN second ON true LEFT JOIN launched ON true;
