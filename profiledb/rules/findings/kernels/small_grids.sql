-- title: Grids that do not fill the GPU
-- question: Do long kernels have fewer blocks than the GPU has SMs?
-- The time lost to SMs without a block, as a share of the active span (first to last operation of each GPU): the
-- duration of each kernel with fewer blocks than SMs, times the share of empty SMs. Kernels count if they take
-- `least_ns` or more and run alone: beside others the empty SMs may work, and the launch dominates shorter ones. The
-- saving is the lost time, if the work splits into as many blocks as there are SMs. Communication does not count: it
-- uses few SMs on purpose. If most of the loss is in kernels of cuBLAS and cuDNN, which choose their grids themselves,
-- the fix is a choice: a larger batch, or other shapes. The cause is `product` if the kernel that loses most is one.
-- needs: kernel
-- includes: finding, work, nccl, closed
-- selects: part
-- once: span, names
-- parts: kernels
-- level: place
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_ns = 5000 shorter kernels do not count
-- column: lost_ns | ns | | sum of duration times share of SMs without a block
-- column: launches | count | | launches with fewer blocks than SMs that ran alone
-- column: kernel | name | | the one that loses most
-- column: single | name | | the same, if no other loses any
-- column: sms | count | | SMs of the GPU
-- column: library_pct | % | .0f | share of kernels of cuBLAS and cuDNN in it, if it is most of it
-- says: {launches} {launches|launch has|launches have} fewer blocks than the GPU has SMs ({sms}), which costs up to {lost_ns} ({value} of the time), mostly in {kernel}; {library_pct} of it in kernels of cuBLAS and cuDNN, which choose their grids themselves.
-- says: {single} has fewer blocks than the GPU has SMs ({sms}) in {launches} {launches|launch|launches}, which costs up to {lost_ns} ({value} of the time).
-- says: {launches} {launches|launch has|launches have} fewer blocks than the GPU has SMs ({sms}), which costs up to {lost_ns} ({value} of the time), mostly in {kernel}.
-- clear: Grids with fewer blocks than SMs cost up to {value} of the time.
-- advice: [decode] Decode more sequences at once: with few rows {kernel} has too few blocks, and most of its time goes into reading weights.
-- advice: [else, OpenACC] Give {kernel} more gangs: `collapse(2)` or `collapse(3)` on its loops, a smaller `vector_length`.
-- advice: [else, OpenMP offload] Give {kernel} more teams: `collapse(2)` or `collapse(3)` on its loops, `num_teams`.
-- advice: [else, CUDA C++ or CuPy or Numba] Give {kernel} more blocks: smaller ones, fewer elements for each thread, several problems in one launch.
-- advice: [else, product] Give {kernel} more blocks: a larger batch, smaller tiles, split-K (`cublasLt` heuristics do), several problems in one launch (batched or grouped GEMM).
-- advice: [else, PyTorch, eager] Give {kernel} more blocks by a larger batch, or let `torch.compile` replace it: its kernels split reductions among blocks.
-- advice: [else] Give {kernel} more blocks: a larger batch, fewer elements for each block, several problems in one launch.
-- advice: [PyTorch] Or run independent work beside it, on another stream: `torch.cuda.Stream()`.
-- advice: [else, CuPy or Numba] Or run independent work beside it, on another stream.
-- advice: [else, OpenACC or OpenMP offload] Or run independent regions beside it (`async`, `nowait`).
-- advice: [else] Or run independent work beside it, on another stream, or in branches of a CUDA graph.
-- source: Nsight Compute, LaunchStatistics (fewer blocks than SMs, lost share); PyTorch TensorBoard plugin gpu_metrics_parser; 5 % and 5 µs: ours
SELECT 0::DOUBLE AS value, NULL AS unjudged, 0 AS saving_ns, NULL AS cause, false AS is_choice,
    NULL AS library_pct, 0 AS lost_ns, 0 AS launches, NULL AS sms, NULL AS kernel, NULL AS single, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND EXISTS (FROM gpu WHERE sm_count IS NOT NULL AND gpu_id IN (SELECT device_id FROM finding_edge))
    AND NOT EXISTS (
        FROM selected_kernel JOIN gpu ON gpu_id = device_id
        WHERE grid_x::BIGINT * grid_y * grid_z < sm_count AND end_ns - start_ns >= $least_ns::BIGINT
    );

WITH small AS MATERIALIZED (
    SELECT kernel_id, device_id, name_id, start_ns, end_ns, grid_x::BIGINT * grid_y * grid_z AS blocks, sm_count,
        (end_ns - start_ns) * (1 - blocks / sm_count) AS lost_ns
    FROM finding_alone JOIN gpu ON gpu_id = device_id
    WHERE grid_x::BIGINT * grid_y * grid_z < sm_count AND end_ns - start_ns >= $least_ns::BIGINT
), total AS (
    SELECT least(coalesce(sum(lost_ns), 0)::BIGINT, (SELECT ns FROM finding_window)) AS lost_ns, count(*) AS launches,
        any_value(sm_count) AS sms, 100.0 * sum(lost_ns) FILTER (is_closed_kernel(demangled)) / nullif(sum(lost_ns), 0)
            AS closed_pct
    FROM small LEFT JOIN kernel_name USING (name_id)
), by_kernel AS (
    SELECT kernel, any_value(readable) AS name, any_value(class) AS class, sum(lost_ns)::BIGINT AS lost_ns,
        count(*) AS launches, median(blocks)::BIGINT AS blocks, arg_max(small.start_ns, small.lost_ns) AS start_ns,
        arg_max(small.end_ns, small.lost_ns) AS end_ns, arg_max(device_id, small.lost_ns) AS device_id
    FROM small JOIN kernel_key USING (name_id) GROUP BY kernel ORDER BY lost_ns DESC, kernel LIMIT 10
), main AS (FROM by_kernel ORDER BY lost_ns DESC, kernel LIMIT 1
), shown AS (
    SELECT {
            'name': name, 'note': blocks || IF(blocks = 1, ' block', ' blocks'), 'ns': lost_ns,
            'count': launches, 'start_ns': start_ns,
            'end_ns': end_ns, 'kernel': kernel, 'device': device_id
        } AS piece
    FROM by_kernel
), known AS (SELECT count(sm_count) > 0 AS has_sm_count FROM gpu WHERE gpu_id IN (SELECT device_id FROM finding_edge)
)
SELECT CASE WHEN has_sm_count THEN 100.0 * total.lost_ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT has_sm_count THEN 'The report does not tell how many SMs the GPU has.' END AS unjudged,
    total.lost_ns AS saving_ns,
    (SELECT 'product' FROM main WHERE class IN ('matmul', 'convolution', 'attention')) AS cause,
    coalesce(closed_pct >= 50, false) AS is_choice,
    CASE WHEN closed_pct >= 50 THEN closed_pct END AS library_pct, total.lost_ns, total.launches, sms,
    (SELECT name FROM main) AS kernel,
    (SELECT any_value(name) FROM by_kernel HAVING count(*) = 1) AS single,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.kernel) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN known;
