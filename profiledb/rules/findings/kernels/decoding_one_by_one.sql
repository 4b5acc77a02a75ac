-- title: Weights read for few sequences
-- question: Does the GPU read all weights for only one or a few vectors?
-- The time of products of a matrix and one vector (gemv, in library names) or at most eight (tiles of eight columns)
-- and of launching them, as a share of the active span (first to last operation of each GPU). It is 0 unless they take
-- at least `least_pct` percent of the time of all matrix products and run `launches` times or more, as when a language
-- model decodes one sequence or a few. A program without attention, softmax or normalization is no such model, but
-- may be a solver, whose next product needs the last one. Reading the matrix dominates such a product: 16 vectors take
-- about as long, to launch as well. The saving is 15/16 of both, that of 16 sequences at once; no report shows whether
-- the program has 16. Launching takes the gaps of up to `gap_ns`, times the share of these products in the time of all
-- matrix products.
-- needs: kernel
-- includes: finding, work, idle, tensor
-- selects: part
-- once: span, names, sums
-- parts: matmul
-- weight: low
-- unit: %
-- fires: above
-- param: threshold = 20 fires at or above this share of the active span
-- param: least_pct = 60 these products must take at least this share of the time of matrix products, percent
-- param: launches = 100 fewest launches of these products
-- param: gap_ns = 1000000 longer gaps have other causes
-- column: vector_ns | ns | | time of these products
-- column: few_ns | ns | | time of these products and of launching them
-- column: launches | count | | launches of these products
-- column: share_pct | % | .0f | share of the time of all matrix products
-- column: kernel | name | | the one with the most time
-- says: Matrix-vector products take {vector_ns} ({share_pct} of all matrix products), mostly {kernel}, and with their launches {few_ns} ({value} of the time): each reads all of its weights for eight sequences or fewer.
-- clear: Matrix-vector products and their launches take {value} of the time.
-- advice: If other sequences wait, decode them together (continuous batching): a batch reads the weights once for all of them, with as many launches as one sequence.
-- advice: For a single sequence, speculative decoding checks several tokens with one read of the weights, and weights in 8 or 4 bits take less time to read.
-- source: ours; roofline of a product with few vectors: 2 operations per vector for each element read. Pair on H100: 16 sequences together take as long as one
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS vector_ns, 0 AS few_ns, 0 AS launches, NULL AS share_pct,
    NULL AS kernel, NULL AS evidence
FROM kernel_name WHERE class = 'matmul' AND is_vector_product(demangled) HAVING count(*) = 0;

WITH product AS MATERIALIZED (
    SELECT name_id, is_vector_product(demangled) AS of_vector FROM kernel_name WHERE class = 'matmul'
), summed AS (
    SELECT name_id, of_vector, sum(ns)::BIGINT AS ns, sum(launches)::BIGINT AS launches
    FROM finding_kernel_sum JOIN product USING (name_id) GROUP BY name_id, of_vector
), total AS (
    SELECT coalesce(sum(ns) FILTER (of_vector), 0)::BIGINT AS vector_ns,
        coalesce(sum(launches) FILTER (of_vector), 0)::BIGINT AS launches,
        100.0 * sum(ns) FILTER (of_vector) / nullif(sum(ns), 0) AS share_pct
    FROM summed
), place AS (  -- whether the kernels are those of a language model
    SELECT count(*) > 0 AS decodes FROM kernel_name SEMI JOIN finding_kernel_sum USING (name_id)
    WHERE class IN ('attention', 'softmax', 'normalization')
), pause AS (
    SELECT coalesce(sum(b - a), 0)::BIGINT AS ns FROM selected_hole(1) WHERE b - a <= $gap_ns::BIGINT
), few AS (
    SELECT (vector_ns + coalesce(share_pct, 0) / 100 * pause.ns)::BIGINT AS ns FROM total CROSS JOIN pause
), by_kernel AS (
    SELECT kernel, any_value(readable) AS name, sum(ns)::BIGINT AS ns,
        sum(launches)::BIGINT AS launches
    FROM summed JOIN kernel_key USING (name_id) WHERE of_vector GROUP BY kernel ORDER BY ns DESC, kernel LIMIT 10
)
SELECT CASE WHEN share_pct >= $least_pct::DOUBLE AND total.launches >= $launches::BIGINT AND decodes
        THEN 100.0 * few.ns / nullif(finding_window.ns, 0) ELSE 0 END AS value,
    (15 * few.ns / 16)::BIGINT AS saving_ns, total.vector_ns, few.ns AS few_ns, total.launches, share_pct,
    (SELECT name FROM by_kernel ORDER BY ns DESC, kernel LIMIT 1) AS kernel,
    (
        SELECT list({'name': name, 'ns': ns, 'count': launches, 'kernel': kernel} ORDER BY ns DESC, kernel)
        FROM by_kernel
    ) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN few CROSS JOIN place;
