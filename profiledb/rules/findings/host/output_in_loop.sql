-- title: Output in the loop
-- question: Does the GPU wait while the program prints, logs or writes files?
-- The share of each GPU's active span (first to last operation) that it is idle while the thread that launches the
-- next operation writes (write, fwrite, printf, fflush ... of the OS libraries; writev, which writes to sockets, too,
-- if the program opens files meanwhile), or is in a range named like output (print, logging, log_metrics, tensorboard,
-- wandb, progress_bar). While a GPU computes nothing, `file_bytes` or more may be copied to the host, and writing may
-- take `write_pct` percent or more of the idle time in one range. Then the other host code of this range makes the
-- file (it serializes a checkpoint) and counts, too, and so do these copies. A plain `log` does not count: it may be a
-- logarithm, as in `log_softmax`. Without such a range or an OS runtime trace the rule cannot judge, unless the GPU is
-- hardly idle at all.
-- needs: kernel or memop or graph_launch
-- includes: finding, idle, waiting, work
-- selects: part
-- once: span, functions, idle, compute
-- parts: host code, OS runtime call, copies (copied_ns)
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: write_pct = 10 share of writing from which the other host code of the gap counts, percent
-- param: file_bytes = 1000000 fewest bytes copied to the host between two kernels that make a file
-- column: idle_ns | ns | | idle time of all GPUs during output
-- column: place | name | | range or function with most of this time
-- column: copied_ns | ns | | time of the copies that make a file while the GPU computes nothing
-- says: The GPU waits {value} of the time while the program writes output, mostly in {place}: {idle_ns}, and {copied_ns} in the copies that it writes.
-- says: The GPU waits {value} of the time ({idle_ns}) while the program writes output, mostly in {place}.
-- clear: The GPU waits {value} of the time for output.
-- advice: [file, PyTorch] Save the data of {place|the loop} only every N steps, and in another thread or process: copy it into pinned memory with `non_blocking=True`, and save it from there (`torch.distributed.checkpoint.async_save` does both).
-- advice: [file, not PyTorch] Save the data of {place|the loop} only every N steps, and in another thread: first copy it into pinned memory on a stream of its own.
-- advice: [else, Trainer] Log every N steps only: `TrainingArguments(logging_steps=100)`. Printing a tensor waits for the GPU as `.item()` does.
-- advice: [else, Lightning] Log every N steps only: `Trainer(log_every_n_steps=100, enable_progress_bar=False)`. Printing a tensor waits for the GPU as `.item()` does.
-- advice: [else, PyTorch] Print and log every N steps only, and keep values on the GPU until then: printing a tensor waits for the GPU as `.item()` does.
-- advice: [else, JAX or XLA] Print and log every N steps only: printing an array waits for the GPU; `jax.debug.print` does not.
-- advice: [else] Write only every N steps, and keep values on the GPU until then.
-- advice: [CUDA C++ or Fortran or OpenACC or OpenMP offload] Write in another thread, in fewer and larger pieces.
-- advice: [else] Write in another thread: `logging.handlers.QueueHandler`, asynchronous writers of TensorBoard or wandb.
-- change: [file] without_range={place}
-- change: [else] host_code={place}
-- source: XProf smart suggestions (debug print >= 5 % of the step)
SELECT CASE WHEN has_calls OR 100 * (SELECT coalesce(sum(b - a), 0) FROM selected_hole(1)) < $threshold::DOUBLE * ns
        THEN 0::DOUBLE END AS value,
    CASE WHEN NOT has_calls
        THEN 'The selection has no range that is called like output, and no calls into the operating system.' END
        AS unjudged,
    0 AS saving_ns, 0 AS idle_ns, NULL AS copied_ns, NULL AS place, NULL AS cause, NULL AS evidence
FROM finding_window CROSS JOIN (SELECT count(*) > 0 AS has_calls FROM selected_osrt_call)
WHERE ns > 0 AND NOT EXISTS (FROM path_pattern WHERE is_output(pattern))
    AND NOT EXISTS (FROM selected_idle(2000, NULL) WHERE reason = 'OS runtime call');

WITH named AS MATERIALIZED (
    SELECT path_id, pattern FROM path_pattern WHERE is_output(pattern)
), opened AS (
    FROM selected_osrt_call JOIN string ON string_id = name_id
    WHERE regexp_matches(value, '^_*(IO_)?(f|fre)?(open|creat)(at)?(64)?$')
), writer AS (
    SELECT DISTINCT function_name(value) AS function FROM string WHERE regexp_matches(
        value, '^_*(IO_)?(v?f?printf|f?puts|f?putc|putchar|f?write(v|64)?|pwrite(v|64)?|fflush|f?close|f(data)?sync'
            || '|perror)$'
    ) AND (function_name(value) <> 'writev' OR EXISTS (FROM opened))
), to_host AS MATERIALIZED (  -- spell_ns: when the GPU began to compute last
    SELECT copy.device_id, copy.start_ns, copy.end_ns, bytes, coalesce(work.start_ns, -1) AS spell_ns
    FROM memop AS copy ASOF LEFT JOIN finding_compute AS work
        ON work.device_id = copy.device_id AND copy.start_ns >= work.start_ns
    WHERE copy_kind = 2
), direct AS MATERIALIZED (
    SELECT idle.device_id, s, e, ns, pre, reason, pattern, function, coalesce(work.start_ns, -1) AS spell_ns,
        pattern IS NOT NULL OR reason = 'OS runtime call' AND function IN (SELECT function FROM writer) AS writes
    FROM (FROM selected_idle(2000, NULL) WHERE reason <> 'launch latency') AS idle
    ASOF LEFT JOIN finding_compute AS work ON work.device_id = idle.device_id AND idle.s >= work.start_ns
    LEFT JOIN (SELECT pre, pattern FROM range JOIN named USING (path_id)) USING (pre)
), filed AS (  -- spells and ranges that make a file
    SELECT device_id, spell_ns, pre, arg_max(function, ns) FILTER (writes) AS function
    FROM direct SEMI JOIN (
        SELECT device_id, spell_ns FROM to_host GROUP BY ALL HAVING sum(bytes) >= $file_bytes::BIGINT
    ) USING (device_id, spell_ns)
    WHERE pattern IS NULL AND reason IN ('host code', 'OS runtime call') GROUP BY ALL
    HAVING 100 * sum(ns) FILTER (writes) >= $write_pct::DOUBLE * sum(ns)
), output AS MATERIALIZED (
    SELECT direct.* EXCLUDE (pattern, function, writes), filed.spell_ns IS NOT NULL AS is_file, coalesce(
            direct.pattern, CASE WHEN is_file THEN idle_pattern.pattern END, filed.function, direct.function
        ) AS place
    FROM direct LEFT JOIN filed ON filed.device_id = direct.device_id AND filed.spell_ns = direct.spell_ns
        AND filed.pre IS NOT DISTINCT FROM direct.pre
    LEFT JOIN idle_pattern ON idle_pattern.pre = direct.pre
    WHERE writes OR is_file AND reason IN ('host code', 'OS runtime call')
), moved AS ( -- noqa: ST03
    SELECT device_id, start_ns, end_ns FROM to_host
    SEMI JOIN (FROM output WHERE is_file) USING (device_id, spell_ns)
), copied AS (FROM finding_cover('moved', 'finding_compute')
), total AS (
    SELECT coalesce(sum(ns), 0)::BIGINT + (SELECT bare_ns FROM copied) AS ns, coalesce(sum(ns), 0)::BIGINT AS idle_ns
    FROM output
), idle AS (
    SELECT coalesce(sum(b - a), 0) AS ns FROM selected_hole(1)
), known AS (
    SELECT EXISTS (FROM selected_osrt_call)
        OR EXISTS (FROM selected_range WHERE path_id IN (SELECT path_id FROM named)) AS can_judge
), main AS (
    SELECT place, CASE WHEN 2 * sum(ns) FILTER (is_file) > sum(ns) THEN 'file' END AS cause
    FROM output GROUP BY place ORDER BY sum(ns) DESC, place LIMIT 1
), shown AS (
    SELECT ns, s, {
            'name': place, 'ns': ns, 'start_ns': s, 'end_ns': e, 'device': device_id, 'range': path
        } AS piece
    FROM (FROM output ORDER BY ns DESC, s LIMIT 10) AS output
    LEFT JOIN (SELECT pre, path_id FROM range) USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT CASE WHEN can_judge OR 100 * idle.ns < $threshold::DOUBLE * finding_window.ns
        THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT can_judge
        THEN 'The selection has no range that is called like output, and no calls into the operating system.' END
        AS unjudged,
    total.ns AS saving_ns, total.idle_ns, nullif(copied.bare_ns, 0) AS copied_ns, (SELECT place FROM main) AS place,
    (SELECT cause FROM main) AS cause,
    (SELECT list(piece ORDER BY ns DESC, s) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN idle CROSS JOIN known CROSS JOIN copied;
