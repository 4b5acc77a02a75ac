-- title: Launch bound
-- question: Does the GPU wait for the CPU to launch kernels one by one?
-- The share of each GPU's active span (first to last operation) that it is idle in gaps before kernels launched one by
-- one, while the CPU is in the launch call or on its way to it (host code, small CUDA calls), or the launch is on its
-- way to the GPU. Only gaps of 2 µs to `gap_ns` count: longer gaps have other causes, shorter ones are normal between
-- two kernels. Gaps with a copy or a synchronization do not count. Gaps of up to `graph_ns` before CUDA graphs count,
-- too, if they take longer together than the GPU works: then the graphs are small, as those of a compiled function that
-- a loop calls for one item at a time (cause `graphs`). The rule needs at least 100 kernels. The sentence and the
-- advice name copies of at most 64 bytes to the host, from `times` on, if there are `read_pct` or more for 100 gaps: a
-- loop that reads its results cannot be launched ahead, nor as one CUDA graph. A step that reads its loss once at its
-- end can. In code of torch.compile the cause is `breaks` if kernels of PyTorch's operators (elementwise, copies,
-- reductions, normalization) follow the compiler's own `break_pct` or more times for 100 kernels.
-- needs: kernel
-- needs: api_call
-- includes: finding, idle
-- selects: part
-- once: span, functions, idle
-- parts: launch call, launch latency, between operations, host code, other CUDA call
-- level: place
-- unit: %
-- fires: above
-- param: threshold = 10 fires at or above this share of the active span
-- param: gap_ns = 100000 longer gaps do not count
-- param: graph_ns = 1000000 longer gaps before CUDA graphs do not count
-- param: times = 20 fewest small copies to the host that are named
-- param: read_pct = 2 fewest of them for 100 gaps
-- param: break_pct = 5 fewest changes from the compiler's kernels to those of operators, for 100 kernels
-- column: idle_ns | ns | | idle time of all GPUs in these gaps
-- column: gaps | count | | number of these gaps
-- column: kernels | count | | kernels in the selection
-- column: graphs | count | | launches of CUDA graphs, if most of this time lies before them
-- column: kernel_ns | ns | .1f | median duration of a kernel
-- column: call_ns | ns | .1f | median duration of a launch call
-- column: range | name | | innermost range with at least four fifths of this time; * stands for its last number
-- column: range_pct | % | .1f | share of this time in the range, the ranges inside it included
-- column: reads | count | | copies of at most 64 bytes to the host, if they are many enough to be named
-- column: breaks | count | | changes from the compiler's kernels to those of operators, if they are many enough to be named
-- says: The GPU waits {value} of the time ({idle_ns}) for CUDA graphs to be launched, in {gaps} short {gaps|gap|gaps}, {range_pct} of it in {range}: the program launches {graphs} graphs, which together take less time than their launches.
-- says: The GPU waits {value} of the time ({idle_ns}) for CUDA graphs to be launched, in {gaps} short {gaps|gap|gaps}: the program launches {graphs} graphs, which together take less time than their launches.
-- says: The GPU waits {value} of the time ({idle_ns}) for kernels to be launched, in {gaps} short {gaps|gap|gaps}, {range_pct} of it in {range}. A kernel takes {kernel_ns}, the call that launches it {call_ns} (medians). The CPU also reads a few bytes back from the GPU {reads} times.
-- says: The GPU waits {value} of the time ({idle_ns}) for kernels to be launched, in {gaps} short {gaps|gap|gaps}. A kernel takes {kernel_ns}, the call that launches it {call_ns} (medians). The CPU also reads a few bytes back from the GPU {reads} times.
-- says: The GPU waits {value} of the time ({idle_ns}) for kernels to be launched, in {gaps} short {gaps|gap|gaps}, {range_pct} of it in {range}. Compiled code is split: kernels that PyTorch launches one by one follow those of torch.compile {breaks} times.
-- says: The GPU waits {value} of the time ({idle_ns}) for kernels to be launched, in {gaps} short {gaps|gap|gaps}. Compiled code is split: kernels that PyTorch launches one by one follow those of torch.compile {breaks} times.
-- says: The GPU waits {value} of the time ({idle_ns}) for kernels to be launched, in {gaps} short {gaps|gap|gaps}, {range_pct} of it in {range}. A kernel takes {kernel_ns}, the call that launches it {call_ns} (medians).
-- says: The GPU waits {value} of the time ({idle_ns}) for kernels to be launched, in {gaps} short {gaps|gap|gaps}. A kernel takes {kernel_ns}, the call that launches it {call_ns} (medians).
-- clear: The GPU waits {value} of the time for kernels to be launched one by one.
-- advice: [reads] -> read_later
-- advice: [graphs, JAX or XLA] Call a compiled function of {part|the loop} once for all: map it over the items with `jax.vmap`, or loop over steps inside of `jax.jit` with `jax.lax.scan`.
-- advice: [graphs, not JAX, not XLA] Do more in each CUDA graph of {part|the loop}: capture the whole step instead of its parts, and work on several items at once.
-- advice: [breaks] -> one_graph
-- advice: [not graphs, not reads or decode or vLLM or SGLang] -> launch_less
-- advice: [decode] Decode more sequences at once: a larger batch needs no more launches.
-- advice: [else, FSDP or DDP, PyTorch, eager, not fused optimizer] Launch fewer and larger kernels: a fused optimizer (`fused=True`), a larger batch per GPU.
-- advice: [else, training, PyTorch, eager, not fused optimizer] Launch fewer and larger kernels: a fused optimizer (`fused=True`), a larger batch.
-- advice: [else, CuPy or Numba] Launch fewer and larger kernels: work on more at a time.
-- advice: [else] Launch fewer and larger kernels: fuse neighboring ones, work on more at a time.
-- change: [reads] without_waits
-- change: [else, not graphs] cuda_graph
-- source: TensorRT-LLM thresholds (launch overhead ratio > 0.10); HTA breakdown of idle time; TensorRT-LLM gap histogram (Python below 0.5 ms)
WITH RECURSIVE piece AS MATERIALIZED (
    SELECT gap_id, device_id, start_ns, duration_ns, pre, reason, function, ns, next FROM selected_idle(2000, NULL)
    WHERE duration_ns <= $graph_ns::BIGINT
        AND (next.name_id IS NOT NULL OR next.call_id IN (SELECT call_id FROM graph_call))
), all_gap AS MATERIALIZED (
    SELECT gap_id, any_value(device_id) AS device_id, any_value(start_ns) AS start_ns,
        any_value(duration_ns) AS duration_ns, arg_max(pre, ns) AS pre,
        any_value(next.call_id) IN (SELECT call_id FROM graph_call)
        OR any_value(next.call_id) IN (SELECT call_id FROM kernel WHERE graph_node_id > 0) AS before_graph
    FROM piece GROUP BY gap_id
    HAVING bool_and(reason IN ('launch call', 'launch latency', 'host code', 'other CUDA call'))
        AND (before_graph OR duration_ns <= $gap_ns::BIGINT AND NOT bool_or(coalesce(
            function IN (SELECT function FROM api_function WHERE call_kind = 'graph launch'), false
        )))
), graph AS (  -- 0 if the graphs take longer than the gaps before them
    SELECT CASE WHEN sum(duration_ns) > any_value(finding_window.ns - hole.ns) THEN sum(duration_ns) ELSE 0 END AS ns
    FROM (FROM all_gap WHERE before_graph) AS all_gap CROSS JOIN finding_window
    CROSS JOIN (SELECT coalesce(sum(b - a), 0) AS ns FROM selected_hole(1)) AS hole
), gap AS MATERIALIZED (
    FROM all_gap WHERE NOT before_graph OR (SELECT ns FROM graph) > 0
), total AS (
    SELECT coalesce(sum(duration_ns), 0)::BIGINT AS ns, count(*) AS gaps FROM gap
), launched AS (
    SELECT count(*) AS kernels, median(end_ns - start_ns) AS kernel_ns FROM selected_kernel
), called AS (
    SELECT median(end_ns - start_ns) FILTER (call_kind = 'launch') AS call_ns,
        count(*) FILTER (call_kind = 'graph launch') AS replays
    FROM selected_api_call JOIN api_function USING (name_id)
), read AS (
    SELECT CASE WHEN count(*) >= greatest($times::BIGINT, $read_pct::DOUBLE / 100 * (SELECT gaps FROM total))
        THEN count(*) END AS reads
    FROM selected_memop WHERE kind = 'memcpy' AND copy_kind = 2 AND bytes <= 64
), titled AS MATERIALIZED (
    SELECT name_id, class, regexp_matches(short, '^triton_\w+_fused_') AS compiled FROM kernel_name
), made AS (  -- by the compiler, or for one operator
    SELECT name_id, compiled FROM titled WHERE (SELECT bool_or(compiled) FROM titled)
        AND (compiled OR class IN ('elementwise', 'reduction', 'normalization', 'copy'))
), broken AS (
    SELECT CASE WHEN count(*) >= $break_pct::DOUBLE / 100 * (SELECT kernels FROM launched) THEN count(*) END AS breaks
    FROM (
        SELECT compiled, lag(compiled) OVER (PARTITION BY device_id, stream_id ORDER BY start_ns, kernel_id) AS before
        FROM selected_kernel JOIN made USING (name_id)
    ) WHERE before AND NOT compiled
), above AS (  -- the ranges around the gaps
    SELECT path_id, ns FROM (
        SELECT path_id, sum(duration_ns) AS ns FROM gap JOIN (SELECT pre, path_id FROM range) USING (pre)
        GROUP BY path_id
    )
    UNION ALL
    SELECT parent_id, ns FROM above JOIN range_path USING (path_id) WHERE parent_id IS NOT NULL
), place AS (
    SELECT pattern, sum(above.ns) AS ns FROM above JOIN path_pattern USING (path_id) GROUP BY pattern, level
    HAVING 5 * sum(above.ns) >= 4 * (SELECT ns FROM total) ORDER BY level DESC, ns DESC, pattern LIMIT 1
), by_range AS (
    SELECT pattern, sum(duration_ns) AS ns, count(*) AS gaps, arg_min(start_ns, gap_id) AS start_ns,
        max(duration_ns) AS longest_ns, arg_min(device_id, gap_id) AS device_id, arg_min(pre, gap_id) AS pre
    FROM gap LEFT JOIN idle_pattern USING (pre) GROUP BY pattern ORDER BY ns DESC, pattern LIMIT 10
), shown AS (
    SELECT ns, {
            'name': coalesce(pattern, 'Outside all ranges'), 'note': 'the longest gap here', 'ns': ns::BIGINT,
            'count': gaps, 'start_ns': by_range.start_ns, 'end_ns': by_range.start_ns + longest_ns,
            'device': device_id, 'range': path
        } AS piece
    FROM by_range LEFT JOIN range USING (pre) LEFT JOIN range_path USING (path_id)
)
SELECT CASE WHEN kernels >= 100 THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN kernels < 100 THEN 'The selection has fewer than 100 kernels.' END AS unjudged,
    total.ns AS saving_ns, total.ns AS idle_ns, total.gaps, kernels, kernel_ns, call_ns, reads, breaks,
    CASE WHEN reads > 0 THEN 'reads' WHEN 2 * graph.ns > total.ns THEN 'graphs' WHEN breaks > 0 THEN 'breaks' END
        AS cause,
    CASE WHEN cause = 'graphs' THEN replays END AS graphs,
    place.pattern AS range, 100.0 * place.ns / nullif(total.ns, 0) AS range_pct,
    (SELECT list(piece ORDER BY ns DESC) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN launched CROSS JOIN called CROSS JOIN read CROSS JOIN graph
CROSS JOIN broken LEFT JOIN place ON true;
