-- title: Attention not fused
-- question: Does attention run as separate products and softmax instead of one fused kernel?
-- The time of the kernels between the products of attention, as a share of the active span (first to last operation of
-- each GPU). A fused kernel never writes this data to memory, so the saving is all of it. The order of kernels shows
-- it: between two matrix products of a stream lie a softmax and only elementwise kernels, copies, reductions and
-- random numbers, none of which takes more than `most_times` as long as the softmax: in attention all of them work on
-- the scores, and a softmax over few numbers belongs to something else (a router, samples along a ray). So do ranges
-- for all three parts of attention (computing_attention_scores, computing_softmax, final_matmul and similar), which
-- may also contain casts of the inputs. The larger of both counts. A softmax of a loss (log-softmax, cross entropy)
-- does not count. XLA calls every fusion of a reduction and elementwise work a softmax (triton_softmax), also that of a
-- normalization: if such kernels follow more than `xla_pct` percent of the products, none of them counts.
-- needs: kernel
-- includes: finding, attention
-- selects: part, mode
-- once: span
-- parts: matmul, softmax, elementwise, copy, attention
-- unit: %
-- fires: above
-- param: threshold = 5 fires at or above this share of the active span
-- param: most = 24 most kernels between two products
-- param: xla_pct = 30 share of the products from which fusions of XLA between them are normalization, percent
-- param: most_times = 6 most time of a kernel between them, in times of the softmax
-- column: between_ns | ns | | time of the kernels between the products of attention
-- column: softmaxes | count | | softmaxes between two products
-- column: kernels | count | | kernels between the products
-- says: Attention is not fused: {kernels} {kernels|kernel|kernels} of softmax, scaling, masking and casts between its products {kernels|takes|take} {between_ns}, {value} of the time.
-- clear: Softmax, scaling and masking between products of attention take {value} of the time.
-- advice: [fused attention, PyTorch] Use `scaled_dot_product_attention` for the attention in {place|the model} that is still written out, too: the rest is already fused.
-- advice: [else, vLLM or SGLang] Choose an attention backend that fuses it: `--attention-backend`.
-- advice: [else, Hugging Face] Load the model with fused attention: `from_pretrained(..., attn_implementation="sdpa")`, or `"flash_attention_2"`.
-- advice: [else, PyTorch] Fuse the attention in {place|the model}: `torch.nn.functional.scaled_dot_product_attention`, in FP16 or BF16, with `is_causal=True` if the mask is causal.
-- advice: [else, JAX or XLA] Fuse the attention in {place|the model}: `jax.nn.dot_product_attention(q, k, v, implementation="cudnn")`.
-- advice: [else, TensorFlow] Fuse the attention in {place|the model}: `keras.layers.MultiHeadAttention` with flash attention on (`keras.config.enable_flash_attention()`).
-- advice: [else, HIP] Fuse the attention in {place|the model}: FlashAttention, or that of Composable Kernel (`ck_tile`).
-- advice: [else] Fuse the attention in {place|the model}: FlashAttention, or the fused attention of cuDNN (`cudnn_frontend` SDPA).
-- advice: [PyTorch, not vLLM, not SGLang] For custom masks and biases, use `torch.nn.attention.flex_attention`.
-- source: FlashAttention (Dao 2022): the scores need not be written; pattern and 5 %: ours
SELECT 0::DOUBLE AS value, 0 AS saving_ns, 0 AS between_ns, NULL AS kernels, NULL AS softmaxes, NULL AS evidence
FROM finding_window
WHERE ns > 0 AND NOT EXISTS (FROM range_name WHERE regexp_matches(name, '(?i)scores|qk'))
    AND NOT EXISTS (
        FROM kernel_name
        WHERE class = 'softmax' AND NOT regexp_matches(demangled, '(?i)log_?softmax|cross_entropy')
    );

WITH kind AS MATERIALIZED (  -- names are few and kernels many
    SELECT name_id, class = 'matmul' AND NOT regexp_matches(short, 'reduce', 'i') AS product,
        class = 'matmul' AS beside, class = 'softmax' AS softmax, starts_with(short, 'triton_softmax') AS of_xla,
        class IN ('matmul', 'softmax', 'elementwise', 'copy', 'reduction', 'random')
            AND NOT (class = 'softmax' AND regexp_matches(demangled, 'LogSoftMax|log_softmax|cross_entropy'
                || '|softmax_warp_\w+<[^()]*(\(int\))?\d+, (\(bool\))?(1|true)', 'i')) AS fits
    FROM kernel_name
), lane AS (
    SELECT DISTINCT device_id, stream_id FROM selected_kernel
    WHERE name_id IN (SELECT name_id FROM kind WHERE softmax AND fits)
), placed AS (
    SELECT device_id, stream_id, start_ns, end_ns, beside, softmax, of_xla, fits, sum(product::INTEGER) OVER (
            PARTITION BY device_id, stream_id ORDER BY start_ns, kernel_id ROWS UNBOUNDED PRECEDING
        ) AS number
    FROM (FROM selected_kernel SEMI JOIN lane USING (device_id, stream_id)) LEFT JOIN kind USING (name_id)
), last_number AS (SELECT device_id, stream_id, max(number) AS number FROM placed GROUP BY ALL
), every_segment AS (
    SELECT device_id, stream_id, number, count(*) FILTER (NOT beside) AS kernels,
        count(*) FILTER (softmax) AS softmaxes, bool_or(of_xla) AS of_xla,
        max(end_ns - start_ns) FILTER (softmax) AS softmax_ns,
        max(end_ns - start_ns) FILTER (NOT beside AND NOT softmax) AS other_ns,
        sum(end_ns - start_ns) FILTER (NOT beside)::BIGINT AS ns, min(start_ns) AS start_ns, max(end_ns) AS end_ns
    FROM placed ANTI JOIN last_number USING (device_id, stream_id, number)
    WHERE number > 0 GROUP BY device_id, stream_id, number
    HAVING softmaxes > 0 AND kernels <= $most::INTEGER AND bool_and(coalesce(fits, false))
        AND coalesce(other_ns, 0) <= $most_times::DOUBLE * softmax_ns
), segment AS (
    SELECT every_segment.* FROM every_segment LEFT JOIN (
        SELECT device_id, stream_id, count(*) AS segments FROM every_segment WHERE of_xla GROUP BY ALL
    ) AS of_lane USING (device_id, stream_id)
    LEFT JOIN (SELECT device_id, stream_id, number AS products FROM last_number) USING (device_id, stream_id)
    WHERE NOT of_xla OR 100 * segments <= $xla_pct::DOUBLE * products
), part AS MATERIALIZED (
    SELECT range.pre, post, CASE WHEN is_part(name, '.*scores|qk(_matmul)?') THEN 'scores'
        WHEN is_part(name, '.*softmax') THEN 'softmax' ELSE 'output' END AS part
    FROM range JOIN range_name USING (name_id)
    WHERE is_part(name, '(computing_)?(attention_|attn_)?(scores|softmax|output)|final_matmul|(qk|av|pv)(_matmul)?')
), part_kernel AS (
    SELECT one.ns FROM (
        SELECT range_by_mode(thread_range, process_range) AS pre, end_ns - start_ns AS ns FROM selected_kernel
        WHERE name_id NOT IN (SELECT name_id FROM kernel_name WHERE class IN ('matmul', 'attention'))
            AND EXISTS (FROM part WHERE part = 'scores') AND EXISTS (FROM part WHERE part = 'softmax')
            AND EXISTS (FROM part WHERE part = 'output')
    ) AS one ASOF JOIN part ON one.pre >= part.pre WHERE one.pre <= part.post
), by_order AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns, sum(kernels)::BIGINT AS kernels, sum(softmaxes)::BIGINT AS softmaxes
    FROM segment
), by_range AS (SELECT coalesce(sum(ns), 0)::BIGINT AS ns, count(*) AS kernels FROM part_kernel
), chosen AS (
    SELECT least(greatest(by_range.ns, by_order.ns), (SELECT ns FROM finding_window)) AS ns,
        CASE WHEN by_range.ns > by_order.ns THEN by_range.kernels ELSE by_order.kernels END AS kernels, softmaxes
    FROM by_order CROSS JOIN by_range
), shown AS (
    SELECT {
            'name': kernels || IF(kernels = 1, ' kernel', ' kernels') || ' between two products', 'ns': ns,
            'count': kernels, 'start_ns': start_ns,
            'end_ns': end_ns, 'device': device_id, 'stream': stream_id
        } AS piece
    FROM segment ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * chosen.ns / nullif(finding_window.ns, 0) AS value, chosen.ns AS saving_ns, chosen.ns AS between_ns,
    chosen.kernels, softmaxes, (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN chosen;
