-- title: Gradients for all rows of a table
-- question: Does a training fill and update all rows of an embedding although a batch looks up few?
-- The time of kernels and memsets that fill a dense gradient with zeros and of the optimizer's kernels that update a
-- table, as a share of the active span (first to last operation of each GPU). The backward pass of an embedding fills
-- the gradient right before its own kernels, in one pass and without a matrix product between them: the longest fills
-- there (half as long as the longest, or more) count. Their grid tells the size of the table: 128 threads of 4, 8 or 16
-- numbers, the most that memory at 2.5 times its peak could fill in that time (constants compress). Fills in a row with
-- equal grids add up: PyTorch splits that of a table of more than 2 GB. Kernels of PyTorch's foreach and fused
-- optimizers update 65,536 numbers per block, of which the table has its share; other kernels beside the backward pass
-- count if their grid is that of the fill or larger. The saving is all of it, because an update of the rows that a
-- batch looks up takes little. Models of language look up most rows of their table, and spend little time on it: the
-- threshold is high.
-- needs: kernel
-- includes: finding, training, peak
-- selects: part
-- once: span, names, trained
-- parts: optimizer, copy, elementwise, copies
-- unit: %
-- fires: above
-- param: threshold = 10 fires at or above this share of the active span
-- param: least_ns = 20000 shortest fill that counts
-- column: fill_ns | ns | | time of the fills
-- column: update_ns | ns | | time of the optimizer's kernels for the tables
-- column: tables | count | | gradients of tables that are filled
-- column: numbers | count | | numbers of the largest table
-- column: kernel | name | | kernel of the embedding's backward pass with the most time
-- says: Backward makes a gradient for all rows of a table (about {numbers} numbers), although a batch looks up few of them: filling it takes {fill_ns}, updating all rows {update_ns}, together {value} of the time.
-- clear: Gradients and updates of whole embedding tables take {value} of the time.
-- advice: [PyTorch] Make gradients for the rows of the batch alone: `nn.Embedding(..., sparse=True)` (`nn.EmbeddingBag` likewise), with `torch.optim.SparseAdam` or SGD for the tables. Large tables: TorchRec, whose fused optimizers update these rows in the backward pass.
-- advice: [else, TensorFlow] Keep gradients of tables as `tf.IndexedSlices`: no operation that makes them dense (clipping by a global norm of dense copies), and an optimizer with sparse updates (`LazyAdam`).
-- advice: [else] Update only the rows that a batch looks up: gradients as pairs of row and value.
-- source: ours; PyTorch's documentation of nn.Embedding (sparse)
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS fill_ns, 0 AS update_ns, 0 AS tables, NULL AS numbers, NULL AS kernel,
    NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (
        FROM kernel_name WHERE regexp_matches(
                demangled, '(?i)embedding_?(bag)?_?\w*(backward|accGrad)|compute_grad_weight|sum_and_scatter'
            )
    );

WITH kind AS MATERIALIZED (
    SELECT name_id, class IN ('matmul', 'convolution', 'attention') AS product,
        contains(demangled, 'FillFunctor') AS fills, contains(demangled, 'multi_tensor_apply') AS several,
        class = 'optimizer' OR class = 'elementwise' AS updates, regexp_matches(
            demangled, '(?i)embedding_?(bag)?_?\w*(backward|accGrad)|compute_grad_weight|sum_and_scatter'
        ) AS looks
    FROM kernel_name
), placed AS MATERIALIZED (
    SELECT one.device_id, one.stream_id, one.kind, one.id, one.start_ns, one.end_ns, one.name_id, one.bytes,
        one.is_backward, grid_x::BIGINT * grid_y * grid_z AS blocks, coalesce(looks, false) AS looks,
        coalesce(fills, one.kind = 'memset') AS fills, several, updates,
        count_if(coalesce(product, false) OR coalesce(begins, false)) OVER (
            PARTITION BY one.device_id, one.stream_id ORDER BY one.start_ns, one.id ROWS UNBOUNDED PRECEDING
        ) AS segment
    FROM (
        SELECT *, is_backward AND NOT coalesce(lag(is_backward) OVER (  -- of those that are known
                PARTITION BY device_id, stream_id, is_backward IS NULL ORDER BY start_ns, id
            ), false) AS begins
        FROM finding_trained
    ) AS one LEFT JOIN kind USING (name_id)
    LEFT JOIN (SELECT kernel_id, grid_x, grid_y, grid_z FROM selected_kernel) AS ran
        ON ran.kernel_id = CASE WHEN one.kind = 'kernel' THEN one.id END  -- as two conditions, DuckDB tries all pairs
    WHERE one.kind IN ('kernel', 'memset')
), looked AS (
    SELECT device_id, stream_id, segment, max(start_ns) AS last_ns FROM placed WHERE looks GROUP BY ALL
), part AS (  -- of a fill that takes several kernels
    SELECT *, coalesce(NOT lag(fills) OVER lane OR blocks <> lag(blocks) OVER lane, true) AS is_first FROM placed
    WINDOW lane AS (PARTITION BY device_id, stream_id ORDER BY start_ns, id)
), filled AS (
    SELECT part.*, end_ns - start_ns AS ns FROM (
        SELECT *, count_if(is_first) OVER (
                PARTITION BY device_id, stream_id ORDER BY start_ns, id ROWS UNBOUNDED PRECEDING
            ) AS fill
        FROM part
    ) AS part JOIN looked USING (device_id, stream_id, segment)
    WHERE fills AND start_ns < last_ns AND end_ns - start_ns >= $least_ns::BIGINT
    QUALIFY 2 * (end_ns - start_ns) >= max(end_ns - start_ns) OVER (PARTITION BY device_id, stream_id, segment)
), sized AS MATERIALIZED (
    SELECT filled.*, coalesce(bytes // 4, list_max(list_filter(
            [blocks * 128 * 4, blocks * 128 * 8, blocks * 128 * 16],
            LAMBDA n: n * 4 <= 2.5 * coalesce(peak_bytes_per_s, 3e12) * ns / 1e9
        )), blocks * 512)::BIGINT AS numbers
    FROM filled LEFT JOIN gpu_bandwidth ON gpu_id = device_id
), by_segment AS (
    SELECT device_id, stream_id, segment, max(numbers) AS numbers, max(blocks) AS blocks FROM (
        SELECT device_id, stream_id, segment, fill, sum(numbers) AS numbers, max(blocks) AS blocks
        FROM sized GROUP BY ALL
    ) GROUP BY ALL
), every AS (
    SELECT sum(numbers) AS numbers, max(numbers) AS most, min(blocks) AS blocks, count(*) AS tables FROM by_segment
), updated AS MATERIALIZED (
    SELECT placed.name_id, placed.end_ns - placed.start_ns AS ns, several, placed.blocks
    FROM placed CROSS JOIN every
    WHERE updates AND NOT fills AND NOT coalesce(is_backward, false) AND every.tables > 0
        AND (several OR placed.blocks >= every.blocks)
), by_name AS (
    SELECT name_id, sum(ns) * CASE WHEN any_value(several)
        THEN least(1, any_value(every.numbers) / greatest(1, sum(updated.blocks) * 65536)) ELSE 1 END AS ns,
        count(*) AS launches
    FROM updated CROSS JOIN every GROUP BY name_id
), total AS (
    SELECT coalesce((SELECT sum(ns) FROM sized), 0)::BIGINT AS fill_ns,
        coalesce((SELECT sum(ns) FROM by_name), 0)::BIGINT AS update_ns
), largest AS (  -- an update of the table has no more numbers than all updates
    SELECT least(any_value(every.most), sum(updated.blocks) FILTER (several) * 65536 // any_value(tables))::BIGINT
        AS numbers
    FROM every LEFT JOIN updated ON true
), shown AS (
    SELECT {
            'name': any_value(readable), 'ns': sum(ns)::BIGINT, 'count': sum(launches)::BIGINT, 'kernel': kernel
        } AS piece
    FROM (
        SELECT name_id, ns, launches FROM by_name
        UNION ALL SELECT name_id, sum(ns), count(*) FROM sized WHERE name_id IS NOT NULL GROUP BY name_id
    ) JOIN kernel_key USING (name_id) GROUP BY kernel
)
SELECT 100.0 * (fill_ns + update_ns) / nullif(finding_window.ns, 0) AS value, fill_ns + update_ns AS saving_ns,
    fill_ns, update_ns, every.tables, largest.numbers, CASE WHEN every.tables > 0 THEN (
            SELECT readable FROM placed JOIN kernel_key USING (name_id) WHERE looks
            GROUP BY readable ORDER BY sum(end_ns - start_ns) DESC, readable LIMIT 1
        ) END AS kernel, (SELECT list(piece ORDER BY piece.ns DESC, piece.kernel) FROM shown) AS evidence
FROM finding_window CROSS JOIN total CROSS JOIN every CROSS JOIN largest;
