-- title: Partial last waves
-- question: Do kernels end with a wave of blocks that leaves most SMs empty?
-- The time lost to partial last waves, as a share of the active span (first to last operation of each GPU). A kernel
-- with more blocks than the GPU holds at once runs them in waves, and ends with the SM that has the most blocks: it
-- loses the share of its duration by which the mean over the SMs falls short of that. Kernels count if they take
-- `least_ns` or more, run alone in more than one wave, and lose at least `least_pct` percent. The blocks per SM follow
-- from block, registers and shared memory (`kernel_shapes`). Kernels limited by memory bandwidth (elementwise,
-- reductions, copies and similar) do not count: their last wave runs faster.
-- needs: kernel
-- includes: finding, filling
-- selects: part
-- once: span, names
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_ns = 10000 shorter kernels do not count
-- param: least_pct = 20 smallest loss that counts, percent of a kernel's duration
-- column: lost_ns | ns | | time lost
-- column: launches | count | | launches with such a loss
-- column: kernel | name | | the one that loses most
-- column: blocks | count | | blocks of its grid
-- column: places | count | | blocks of it that the GPU holds at once
-- says: The last wave of {launches} {launches|launch|launches} leaves most SMs empty, which costs {lost_ns} ({value} of the time), mostly in {kernel}: it has {blocks} {blocks|block|blocks}, and the GPU holds {places} at once.
-- clear: Partial last waves lose {value} of the time.
-- advice: Choose batch or tile size so that the blocks just fill whole waves: a few blocks more cost another wave.
-- advice: In your own kernels, launch as many blocks as the GPU holds and let each process several tiles (persistent kernel), or split the last tiles (stream-K).
-- source: NVIDIA, Matrix Multiplication Background (wave and tile quantization); Nsight Compute, LaunchStatistics (waves, tail effect, least share)
WITH judged AS MATERIALIZED (
    SELECT *, grid_blocks AS blocks, blocks_per_sm * sm_count AS places, CASE WHEN waves <= 1 THEN 0
            WHEN waves > 1 THEN 1 - grid_blocks / sm_count / ceil(grid_blocks / sm_count) END AS lost
    FROM finding_filling($least_ns::BIGINT) WHERE class NOT IN (
            'elementwise', 'reduction', 'copy', 'normalization', 'softmax', 'optimizer', 'embedding', 'random', 'sort'
        )
), partial AS MATERIALIZED (
    SELECT *, lost * ns AS lost_ns FROM judged WHERE lost >= $least_pct::DOUBLE / 100
), total AS (
    SELECT least(coalesce(sum(lost_ns), 0)::BIGINT, (SELECT ns FROM finding_window)) AS ns, count(*) AS launches
    FROM partial
), by_kernel AS (
    SELECT kernel, any_value(readable) AS name, sum(lost_ns)::BIGINT AS lost_ns,
        count(*) AS launches, arg_max(blocks, lost_ns) AS blocks, arg_max(places, lost_ns) AS places,
        arg_max(waves, lost_ns) AS waves, arg_max(start_ns, lost_ns) AS start_ns, arg_max(end_ns, lost_ns) AS end_ns,
        arg_max(device_id, lost_ns) AS device_id
    FROM partial JOIN kernel_key USING (name_id) GROUP BY kernel ORDER BY lost_ns DESC, kernel LIMIT 10
), shown AS (
    SELECT lost_ns, kernel, {
            'name': name, 'note': format('{:.2f} waves', waves), 'ns': lost_ns, 'count': launches,
            'start_ns': start_ns, 'end_ns': end_ns, 'kernel': kernel, 'device': device_id
        } AS piece
    FROM by_kernel
), main AS (SELECT name, blocks, places FROM by_kernel ORDER BY lost_ns DESC, kernel LIMIT 1
), known AS (SELECT count(*) = 0 OR count(lost) > 0 AS can_judge FROM judged
)
SELECT CASE WHEN can_judge THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT can_judge THEN 'The report does not tell how many blocks an SM of the GPU holds.' END AS unjudged,
    total.ns AS saving_ns, total.ns AS lost_ns, total.launches, main.name AS kernel, main.blocks, main.places,
    (SELECT list(piece ORDER BY lost_ns DESC, kernel) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN known LEFT JOIN main ON true;
