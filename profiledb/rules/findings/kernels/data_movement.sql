-- title: Kernels that only move data
-- question: Do kernels that only move data take much of the kernel time?
-- The share of kernels that copy, cast, transpose, fill, gather, scatter or sort (classes copy, embedding and sort) in
-- the kernel time of the selection, without communication. The saving is the time in which such kernels run: fusing
-- them into others, or a better layout, removes all of it. The kernel that takes most of it tells the cause:
-- `concatenation` if it is one of `torch.cat`, or if its grid grows by the same number of blocks `copies` times or
-- more, by at most `most_pct` percent each time, because a tensor is copied whenever something is joined to it;
-- `atomics` if it adds up rows (`index_add`, `scatter_add`) and takes `atomics_ns` or more on average; `sort` if it
-- sorts, which nothing fuses.
-- needs: kernel
-- includes: finding, work, nccl
-- selects: part
-- once: span, names, sums
-- parts: copy
-- unit: %
-- fires: above
-- param: threshold = 30 fires at or above this share of the kernel time
-- param: least_pct = 2 share of the active span below which the value is 0, percent
-- param: copies = 6 fewest launches whose grid must grow
-- param: most_pct = 20 most growth from launch to launch, percent
-- param: atomics_ns = 10000 shortest mean time of a kernel in which additions wait for each other
-- column: move_ns | ns | | time in which these kernels run
-- column: other_ns | ns | | kernel time without communication, if there is communication
-- column: launches | count | | launches of these kernels
-- column: kernel | name | | the one with the most time
-- column: grown | count | | blocks by which its grid grows again and again
-- says: Kernels that copy, cast, transpose, gather, scatter or sort take {value} of the kernel time: {move_ns} in {launches} {launches|launch|launches}, mostly {kernel}, whose grid grows by {grown} {grown|block|blocks} again and again: a tensor is copied each time it gets longer.
-- says: Kernels that copy, cast, transpose, gather, scatter or sort take {value} of the {other_ns} of kernel time without communication: {move_ns} in {launches} {launches|launch|launches}, mostly {kernel}.
-- says: Kernels that copy, cast, transpose, gather, scatter or sort take {value} of the kernel time: {move_ns} in {launches} {launches|launch|launches}, mostly {kernel}.
-- clear: Kernels that only move data take {value} of the {other_ns} of kernel time without communication.
-- clear: Kernels that only move data take {value} of the kernel time.
-- advice: [concatenation, PyTorch, decode or fused attention, not training] Keep a key-value cache of fixed size, and write each token's keys and values into it (`cache[:, :, at] = keys`): `torch.cat` copies all of the cache for each token. If it joins other tensors, write them into a preallocated buffer.
-- advice: [concatenation, else, PyTorch] Write results into a preallocated buffer (`buffer[:, start:end] = x`) instead of joining tensors with `torch.cat`, which copies all of them each time.
-- advice: [concatenation, else] Write results into a preallocated buffer instead of joining arrays, which copies all of them each time.
-- advice: [atomics, PyTorch] Sum each row's elements without atomics, for which additions to the same row wait: a sum over a dimension if rows are regular (`x.view(rows, -1).sum(1)`), else `torch.segment_reduce` over sorted rows.
-- advice: [atomics, else] Sum each row's elements without atomics, for which additions to the same row wait: sort by row, and reduce each segment.
-- advice: [sort, PyTorch] Sort less in {place|the step}: take `torch.topk` if you need a few values, sort all rows in one call (`x.sort(dim=-1)`), use keys of 32 bits or fewer, and keep what you have sorted.
-- advice: [else, sort, CuPy] Sort less in {place|the loop}: take `cupy.partition` or `cupy.argpartition` if you need a few values, sort all rows in one call (`axis=-1`), and use keys of 32 bits or fewer.
-- advice: [else, sort] Sort less in {place|the loop}: select if you need a few values, sort all rows in one call, and use keys of 32 bits or fewer.
-- advice: [not concatenation, not atomics, not sort] -> fuse
-- advice: [not concatenation, not atomics, not sort, PyTorch, channels last] Keep the layout through the model: no `.contiguous()`, `.float()` or `permute` around each layer.
-- advice: [not concatenation, not atomics, not sort, else, PyTorch] Keep the layout through the model: `channels_last` for convolutions; no `.contiguous()`, `.float()` or `permute` around each layer.
-- advice: [not CuPy, not Numba, not sort] Keep one precision through a block, and write results where they are read: `out=`, views, preallocated buffers.
-- source: XProf (data shuffle operations 30 % of the time)
SELECT 0::DOUBLE AS value, NULL AS cause, 0 AS saving_ns, 0 AS move_ns, other_ns, 0 AS launches, NULL AS kernel,
    NULL AS grown, NULL AS evidence
FROM finding_window CROSS JOIN (
    SELECT sum(sums.ns) FILTER (NOT is_communication(short, class)) AS all_ns,
        CASE WHEN bool_or(is_communication(short, class)) THEN all_ns::BIGINT END AS other_ns,
        count(*) FILTER (class IN ('copy', 'embedding', 'sort') AND NOT is_communication(short, class)) AS moving
    FROM finding_kernel_sum AS sums JOIN kernel_key USING (name_id)
) WHERE finding_window.ns > 0 AND all_ns > 0 AND moving = 0;

WITH by_kernel AS (
    SELECT kernel, any_value(class) AS class, any_value(readable) AS name, any_value(demangled) AS demangled,
        sum(ns)::BIGINT AS ns, sum(launches)::BIGINT AS launches
    FROM finding_kernel_sum JOIN kernel_key USING (name_id) WHERE NOT is_communication(short, class) GROUP BY kernel
), moving AS MATERIALIZED (
    SELECT device_id, start_ns, end_ns FROM selected_kernel
    WHERE name_id IN (SELECT name_id FROM kernel_name WHERE class IN ('copy', 'embedding', 'sort'))
), taken AS (
    SELECT coalesce(sum(end_ns - start_ns), 0)::BIGINT AS ns
    FROM finding_union('moving') WHERE EXISTS (FROM moving)
), total AS (
    SELECT sum(ns) AS all_ns, coalesce(sum(ns) FILTER (class IN ('copy', 'embedding', 'sort')), 0) AS move_ns,
        coalesce(sum(launches) FILTER (class IN ('copy', 'embedding', 'sort')), 0)::BIGINT AS launches
    FROM by_kernel
), worst AS (
    FROM by_kernel WHERE class IN ('copy', 'embedding', 'sort') ORDER BY ns DESC, kernel LIMIT 10
), main AS (FROM worst ORDER BY ns DESC, kernel LIMIT 1
), copied AS (  -- its long launches copy the old tensor, short ones the appended part
    SELECT device_id, stream_id, start_ns, kernel_id, grid_x::BIGINT * grid_y * grid_z AS blocks
    FROM selected_kernel JOIN kernel_key USING (name_id) JOIN main USING (kernel)
    WHERE main.class = 'copy' AND 2 * (end_ns - start_ns) * main.launches >= main.ns
), beside AS (
    SELECT blocks, lag(blocks) OVER (PARTITION BY device_id, stream_id ORDER BY start_ns, kernel_id) AS before
    FROM copied
), growth AS (
    SELECT blocks - before AS grown, count(*) AS times, sum(times) OVER () AS every
    FROM beside WHERE blocks > before AND 100 * (blocks - before) <= $most_pct::DOUBLE * before
    GROUP BY grown QUALIFY times >= $copies::BIGINT AND 5 * times >= 4 * every
), shown AS (
    SELECT {'name': name, 'note': class, 'ns': ns, 'count': launches, 'kernel': kernel} AS piece FROM worst
)
SELECT CASE WHEN 100 * taken.ns < $least_pct::DOUBLE * finding_window.ns THEN 0
        ELSE 100.0 * move_ns / nullif(all_ns, 0) END AS value,
    (
        SELECT CASE WHEN name LIKE 'CatArray%' OR EXISTS (FROM growth) THEN 'concatenation'
            WHEN demangled LIKE '%ReduceAdd%' AND ns >= $atomics_ns::BIGINT * launches THEN 'atomics'
            WHEN class = 'sort' THEN 'sort' END
        FROM main
    ) AS cause, taken.ns AS saving_ns, taken.ns AS move_ns,
    CASE WHEN EXISTS (
            FROM finding_kernel_sum JOIN kernel_key USING (name_id) WHERE is_communication(short, class)
        ) THEN all_ns::BIGINT END AS other_ns, launches,
    (SELECT name FROM main) AS kernel, (SELECT grown FROM growth) AS grown,
    (SELECT list(piece ORDER BY piece.ns DESC, piece.kernel) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN taken WHERE all_ns > 0;
