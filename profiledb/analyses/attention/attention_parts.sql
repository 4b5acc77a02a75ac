-- title: Attention by its parts
-- One row per attention part, enclosing range (variant) and length: scores QK^T, softmax and output PV, each a range
-- whose whole name matches a pattern; and fused, the kernels of class `attention` outside these ranges. With b
-- sequences, h heads, t tokens and d numbers per head, an attention needs 2bhttd FLOPs for the scores, 5bhtt for the
-- softmax and 2bhttd for the output; a fused one needs all three. The backward pass of fused attention has no FLOPs
-- here. For causal attention, rates and shares of the peak count half of the FLOPs as useful, as FlashAttention does,
-- whatever the kernels compute. Bytes are the minimum traffic: scores read Q, K and write S (2bhtd + bhtt numbers),
-- softmax reads and writes them (2bhtt), output reads P, V and writes O (bhtt + 2bhtd), fused attention reads Q, K, V
-- and writes O (4bhtd). The number of tokens comes from a payload, else the name of a range (tokens_512), else the
-- parameter, else the sidecar, but never from a figure per step; other sizes come from the parameter, else a payload,
-- else the sidecar. The peak is that of the data sheet, else SMs times FLOPs per cycle times the highest clock, dense;
-- softmax uses the peak of the CUDA cores. Shares above 105 % stay empty: `contradiction` lists their inputs.
-- page: attention
-- show: variant 190, tokens 64, part 76, calls 52, kernel_ns 92, share_pct bar 104, matmul_ns 92, flops 96
-- show: useful_flops 104, flops_per_s 104, pct_of_peak 88, bytes 84, bytes_per_s 88, pct_of_bandwidth 136
-- show: kernels 80, cpu_ns
-- prefetch: whole
-- needs: range or kernel
-- includes: sidecar, peak, attention, share
-- selects: part
-- param: scores = computing_attention_scores|attention_scores|attn_scores|qk_matmul|qk name of the score ranges: a case-insensitive pattern (RE2) for the whole name
-- param: softmax = computing_softmax|attention_softmax|attn_softmax|softmax name of the softmax ranges, a pattern
-- param: output = final_matmul|attention_output|attn_output|av_matmul|pv_matmul name of the output ranges, a pattern
-- param: batch =  number of sequences
-- param: heads =  number of heads
-- param: tokens =  tokens per sequence, if the ranges do not state it
-- param: head_size =  numbers per head
-- param: precision =  precision for the peak and the bytes: bf16, fp16, fp8, tf32, fp32 or fp64
-- param: causal = auto (auto, true, false) whether tokens ignore later tokens; half of the work is then useful
-- column: variant | text | | name of the range around the part; for fused attention, the range of its kernels
-- column: tokens | count | | tokens per sequence
-- column: part | text | | scores, softmax, output, fused, fused backward
-- column: calls | count | | ranges of this part; for fused attention its kernels, without those that combine partial results
-- column: kernels = Launches | count | | kernels launched in it; empty if the report has none
-- column: cpu_ns = CPU | ns | | sum of the durations of the ranges on the CPU
-- column: kernel_ns = Kernels | ns | | kernel time, sum over all calls
-- column: matmul_ns = Products | ns | | part of it in matmul kernels; the rest is scaling, masking and casts
-- column: share_pct | % | .1f | share of the kernel time of this variant and length
-- column: batch | count | | number of sequences
-- column: heads | count | | heads of the attention
-- column: head_size | count | | numbers per head
-- column: flops = Work | FLOP | .0f | FLOPs of all calls
-- column: useful_flops = Useful | FLOP | .0f | useful work: half of the FLOPs if the attention is causal
-- column: bytes | bytes | | minimum traffic of all calls: Q, K, V, scores and output once each
-- column: flops_per_s = Rate | FLOP/s | .0f | useful work over kernel time
-- column: pct_of_peak = Share of GPU peak | % | .2f | share of the GPU's peak in this precision; for softmax, of the CUDA cores' peak; empty above 105 %, which is impossible
-- column: bytes_per_s = Rate | bytes/s | .0f | minimum traffic over kernel time
-- column: pct_of_bandwidth = Share of memory peak | % | .2f | minimum traffic over kernel time, as a share of the memory peak; caches may serve it; empty above 105 %, which is impossible
-- column: time_to_matmuls = Softmax vs matmul ranges | ratio | .3f | softmax time over the time of both matmul ranges, scaling and masking included
-- column: time_to_products = Softmax vs matmul kernels | ratio | .3f | softmax time over the time of the matmul kernels in these ranges
-- column: flops_to_matmuls | ratio | .4f | softmax FLOPs over the FLOPs of scores and output
-- column: peak_flops_per_s | FLOP/s | .0f | peak of the GPU at this precision
-- column: peak_from | text | | source of the peak
-- column: peak_bytes_per_s | bytes/s | .0f | peak of the GPU memory
-- column: peak_precision | text | | precision of the peak: fp32 or fp64 for softmax, else that of the attention
-- column: precision | text | | precision of the attention, used for the bytes
-- column: causal | bool | | whether half of the work counts as useful
-- column: contradiction | text | | reason for an empty share of a peak although all inputs are known: the impossible share and its sizes
WITH fact AS (
    SELECT coalesce(short_precision($precision::VARCHAR),
        short_precision(meta_value(['precision', 'dtype']))) AS precision,
        CASE $causal
            WHEN 'auto' THEN coalesce(lower(meta_value(['causal', 'is_causal'])) IN ('true', '1', 'yes'), false)
            ELSE $causal = 'true' END AS causal
), part AS (
    SELECT *, batch * heads * tokens AS rows_
    FROM selected_attention_part($scores, $softmax, $output, $batch::VARCHAR, $heads::VARCHAR, $tokens::VARCHAR,
        $head_size::VARCHAR)
), work AS (
    SELECT part.*, precision, causal, calls::DOUBLE * rows_ * tokens * CASE part WHEN 'softmax' THEN 5
            WHEN 'fused' THEN 4 * head_size + 5 WHEN 'fused backward' THEN NULL ELSE 2 * head_size END AS flops,
        CASE WHEN causal THEN flops / 2 ELSE flops END AS useful_flops,
        calls * rows_ * element_bytes(precision) * CASE part WHEN 'scores' THEN 2 * head_size + tokens WHEN 'softmax'
            THEN 2 * tokens
            WHEN 'output' THEN tokens + 2 * head_size WHEN 'fused' THEN 4 * head_size END AS bytes,
        1e9 * useful_flops / nullif(kernel_ns, 0) AS flops_per_s, 1e9 * bytes / nullif(kernel_ns, 0) AS bytes_per_s,
        peak_precision(part, precision) AS peak_precision,
        'From batch ' || batch || ', ' || heads || ' heads, ' || tokens || ' tokens' AS sizes
    FROM part CROSS JOIN fact
), lane AS (
    SELECT *, sum(kernel_ns) OVER w AS all_ns, sum(kernel_ns) FILTER (part IN ('scores', 'output')) OVER w AS both_ns,
        sum(matmul_ns) FILTER (part IN ('scores', 'output')) OVER w AS products_ns,
        sum(flops) FILTER (part IN ('scores', 'output')) OVER w AS both_flops
    FROM work WINDOW w AS (PARTITION BY variant, tokens, batch, heads, head_size)
), peak AS (
    FROM attention_peak((SELECT [precision, peak_precision('softmax', precision)] FROM fact))
)
SELECT variant, tokens, part, calls, kernels, cpu_ns, kernel_ns, matmul_ns, 100.0 * kernel_ns / nullif(all_ns,
    0) AS share_pct,
    batch, heads, head_size, flops, useful_flops, bytes,
    flops_per_s, share_of_peak(flops_per_s, peak_flops_per_s) AS pct_of_peak,
    bytes_per_s, share_of_peak(bytes_per_s, peak_bytes_per_s) AS pct_of_bandwidth,
    CASE part WHEN 'softmax' THEN kernel_ns / nullif(both_ns, 0) END AS time_to_matmuls,
    CASE part WHEN 'softmax' THEN kernel_ns / nullif(products_ns, 0) END AS time_to_products,
    CASE part WHEN 'softmax' THEN flops / nullif(both_flops, 0) END AS flops_to_matmuls,
    peak_flops_per_s, peak_from, peak_bytes_per_s, peak_precision, precision, causal,
    nullif(concat_ws(' ',
        peak_contradiction(flops_per_s, peak_flops_per_s, 'FLOP', upper(peak_precision) || ', ' || peak_from,
            sizes || coalesce(', head size ' || head_size, '') || ': a size, the precision or the peak is wrong'),
        peak_contradiction(bytes_per_s, peak_bytes_per_s, 'B', 'memory bandwidth',
            sizes || ' of ' || precision || ': the caches served these bytes, or a size or the precision is wrong')),
        '') AS contradiction
FROM lane LEFT JOIN peak USING (peak_precision)
ORDER BY tokens, variant, batch, heads, head_size, place;
