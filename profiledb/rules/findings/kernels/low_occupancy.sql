-- title: Few warps per SM
-- question: Do blocks use so much of an SM that it holds too few warps to hide latency?
-- The time of kernels that fill the GPU while an SM holds at most `most_pct` percent of its warps, as block, registers
-- and shared memory allow (`kernel_shapes`), as a share of the active span (first to last operation of each GPU).
-- Kernels count if they take `least_ns` or more, run alone, and use at most `most_registers` registers per thread:
-- others, like matrix products, convolutions and attention, hide latency with independent work and use few warps on
-- purpose. The saving assumes twice `most_pct`, and that warps are all that the kernel lacks.
-- needs: kernel
-- includes: finding, filling
-- selects: part
-- once: span, names
-- parts: kernels
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: least_ns = 10000 shorter kernels do not count
-- param: most_pct = 12.5 highest theoretical occupancy that counts: 8 warps of 64
-- param: most_registers = 64 most registers per thread of a kernel that counts
-- column: slow_ns | ns | | time of these kernels
-- column: launches | count | | launches of these kernels
-- column: kernel | name | | the one with the most time
-- column: occupancy_pct | % | .1f | its theoretical occupancy
-- column: limiter | text | | resource that limits it
-- says: {launches} {launches|launch runs|launches run} with few warps per SM for {slow_ns} ({value} of the time), mostly {kernel}: limited by {limiter}, it occupies {occupancy_pct} of an SM's warps.
-- clear: Kernels with few warps per SM take {value} of the time.
-- advice: [shared memory] Use less shared memory per block (smaller tiles), or more threads per block.
-- advice: [blocks] Make blocks larger: an SM holds only a limited number of blocks, however few warps they have.
-- advice: [warps] Make blocks smaller, so that more than one fits on an SM.
-- advice: [not HIP] Nsight Compute shows whether these warps are enough: `ncu --section Occupancy --section WarpStateStats`.
-- source: Nsight Compute, Occupancy (theoretical occupancy); limits: ours
WITH judged AS MATERIALIZED (
    SELECT *, CASE blocks_per_sm WHEN limit_shared THEN 'shared memory' WHEN limit_blocks THEN 'blocks' ELSE 'warps' END
            AS limiter
    FROM finding_filling($least_ns::BIGINT) WHERE class NOT IN ('matmul', 'convolution', 'attention')
), few AS MATERIALIZED (
    FROM judged WHERE occupancy_pct <= $most_pct::DOUBLE AND occupancy_pct > 0 AND waves >= 1
        AND registers <= $most_registers::BIGINT
), total AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns, count(*) AS launches,
        coalesce(sum(ns * (1 - occupancy_pct / (2 * $most_pct::DOUBLE))), 0)::BIGINT AS saving_ns
    FROM few
), by_kernel AS (
    SELECT kernel, any_value(readable) AS name, sum(ns)::BIGINT AS ns,
        count(*) AS launches, arg_max(occupancy_pct, ns) AS occupancy_pct, arg_max(limiter, ns) AS limiter,
        arg_max(start_ns, ns) AS start_ns, arg_max(end_ns, ns) AS end_ns, arg_max(device_id, ns) AS device_id
    FROM few JOIN kernel_key USING (name_id) GROUP BY kernel ORDER BY ns DESC, kernel LIMIT 10
), shown AS (
    SELECT ns, kernel, {
            'name': name, 'note': format('{:.0f} % of the warps, by ', occupancy_pct) || limiter, 'ns': ns,
            'count': launches, 'start_ns': start_ns, 'end_ns': end_ns, 'kernel': kernel, 'device': device_id
        } AS piece
    FROM by_kernel
), main AS (SELECT * FROM by_kernel ORDER BY ns DESC, kernel LIMIT 1
), known AS (SELECT count(*) = 0 OR count(occupancy_pct) > 0 AS can_judge FROM judged
)
SELECT CASE WHEN can_judge THEN 100.0 * total.ns / nullif(finding_window.ns, 0) END AS value,
    CASE WHEN NOT can_judge THEN 'The report does not tell how many warps an SM of the GPU holds.' END AS unjudged,
    main.limiter AS cause, total.saving_ns, total.ns AS slow_ns, total.launches, main.name AS kernel,
    main.occupancy_pct, main.limiter,
    (SELECT list(piece ORDER BY ns DESC, kernel) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN known LEFT JOIN main ON true;
