-- title: Attention written out
-- question: Does attention run as matrix product, softmax and matrix product instead of one fused kernel?
-- Told by the order of kernels: between two matrix products of a stream lies a softmax, and nothing else but
-- elementwise kernels, copies, reductions and random numbers. Or by ranges of the program for the parts of attention
-- (computing_attention_scores, computing_softmax, final_matmul and their kin), whichever holds more; these may hold
-- casts of the inputs, too. All but the products is traffic that a fused kernel never writes to memory: its time is
-- the saving, and as a share of the time from the first to the last operation the value. A softmax of a loss
-- (log-softmax, cross entropy) does not count.
-- needs: kernel
-- includes: finding, attention
-- selects: part, mode
-- unit: %
-- fires: above
-- param: threshold = 5 share of the time from which on it is said
-- param: most = 24 kernels between two products at most
-- column: between_ns | ns | | time of the kernels between the products of attention
-- column: softmaxes | count | | softmaxes between two products
-- column: kernels | count | | kernels between the products
-- says: Attention is written out: {kernels} kernels of softmax, scaling, masking and casts between its products take {between_ns}, {value} of the time.
-- clear: Softmax, scaling and masking between products of attention take {value} of the time.
-- advice: PyTorch: `torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)` with FP16 or BF16 inputs; `torch.nn.attention.sdpa_kernel` chooses the implementation.
-- advice: Masks and biases: `torch.nn.attention.flex_attention`. CUDA: FlashAttention, cuDNN's fused attention (`cudnn_frontend` SDPA).
-- source: FlashAttention (Dao 2022): the scores need not be written; the pattern and 5 % are ours
WITH lane AS (
    SELECT DISTINCT device_id, stream_id FROM selected_kernel
    WHERE name_id IN (SELECT name_id FROM kernel_name WHERE class = 'softmax')
), placed AS (
    SELECT kernel_id, device_id, stream_id, name_id, start_ns, end_ns, class, demangled,
        count(*) FILTER (class = 'matmul' AND NOT regexp_matches(short, 'reduce', 'i')) OVER (
            PARTITION BY device_id, stream_id ORDER BY start_ns, kernel_id ROWS UNBOUNDED PRECEDING
        ) AS number
    FROM (FROM selected_kernel SEMI JOIN lane USING (device_id, stream_id)) AS kernel
    LEFT JOIN kernel_name USING (name_id)
), last_number AS (SELECT device_id, stream_id, max(number) AS number FROM placed GROUP BY ALL
), segment AS (
    SELECT device_id, stream_id, number, count(*) FILTER (class <> 'matmul') AS kernels,
        count(*) FILTER (class = 'softmax') AS softmaxes,
        sum(end_ns - start_ns) FILTER (class <> 'matmul')::BIGINT AS ns, min(start_ns) AS start_ns,
        max(end_ns) AS end_ns
    FROM placed ANTI JOIN last_number USING (device_id, stream_id, number)
    WHERE number > 0 GROUP BY device_id, stream_id, number
    HAVING softmaxes > 0 AND kernels <= $most::INTEGER
        AND bool_and(coalesce(class IN ('matmul', 'softmax', 'elementwise', 'copy', 'reduction', 'random'), false))
        AND NOT bool_or(class = 'softmax' AND regexp_matches(
            demangled, 'LogSoftMax|log_softmax|cross_entropy'
            || '|softmax_warp_\w+<[^()]*(\(int\))?\d+, (\(bool\))?(1|true)', 'i'))
), told AS (
    SELECT kernels, kernel_ns - coalesce(matmul_ns, 0) AS ns
    FROM selected_attention(
        'computing_attention_scores|attention_scores|attn_scores|qk_matmul|qk',
        'computing_softmax|attention_softmax|attn_softmax|softmax',
        'computing_output|final_matmul|attention_output|attn_output|av_matmul|pv_matmul|pv'
    ) WHERE part IN ('scores', 'softmax', 'output')
), by_order AS (
    SELECT coalesce(sum(ns), 0)::BIGINT AS ns, sum(kernels)::BIGINT AS kernels, sum(softmaxes)::BIGINT AS softmaxes
    FROM segment
), by_range AS (SELECT coalesce(sum(ns), 0)::BIGINT AS ns, sum(kernels)::BIGINT AS kernels FROM told
), chosen AS (
    SELECT CASE WHEN by_range.ns > by_order.ns THEN by_range.ns ELSE by_order.ns END AS ns,
        CASE WHEN by_range.ns > by_order.ns THEN by_range.kernels ELSE by_order.kernels END AS kernels, softmaxes
    FROM by_order CROSS JOIN by_range
), shown AS (
    SELECT {
            'name': kernels || ' kernels between two products', 'ns': ns, 'count': kernels, 'start_ns': start_ns,
            'end_ns': end_ns, 'device': device_id, 'stream': stream_id
        } AS piece
    FROM segment ORDER BY ns DESC, start_ns LIMIT 10
)
SELECT 100.0 * chosen.ns / nullif(finding_window.ns, 0) AS value, chosen.ns AS saving_ns, chosen.ns AS between_ns,
    chosen.kernels, softmaxes, (SELECT list(piece ORDER BY piece.ns DESC, piece.start_ns) FROM shown) AS evidence
FROM finding_window CROSS JOIN chosen;
