-- title: Attention by length
-- One row per attention part, variant and length (see `attention_parts`): the time of one attention and its growth. The
-- exponent is the least-squares slope of log time over log length: time = c * tokens^exponent. It needs three lengths.
-- needs: range or kernel
-- includes: attention
-- selects: part
-- param: scores = computing_attention_scores|attention_scores|attn_scores|qk_matmul|qk name of the score ranges: a case-insensitive pattern (RE2) for the whole name
-- param: softmax = computing_softmax|attention_softmax|attn_softmax|softmax name of the softmax ranges, a pattern
-- param: output = final_matmul|attention_output|attn_output|av_matmul|pv_matmul name of the output ranges, a pattern
-- column: variant | text | | name of the range around the part
-- column: part | text | | scores, softmax, output, fused, fused backward
-- column: tokens | count | | tokens per sequence
-- column: calls | count | | ranges of this part, or fused kernels
-- column: call_ns | ns | .0f | mean kernel time of one call
-- column: call_cpu_ns | ns | .0f | mean duration of one call on the CPU
-- column: lengths | count | | different lengths of this variant and part
-- column: exponent | number | .3f | exponent of the GPU time
-- column: r2 | number | .4f | share of the variance of the logarithms that the fit explains
WITH one AS (
    SELECT variant, part, place, tokens, sum(calls)::BIGINT AS calls, sum(kernel_ns) / nullif(sum(calls), 0) AS call_ns,
        sum(cpu_ns) / nullif(sum(calls), 0) AS call_cpu_ns
    FROM selected_attention_part($scores, $softmax, $output, NULL, NULL, NULL, NULL) WHERE tokens IS NOT NULL
    GROUP BY ALL
), fit AS (
    SELECT variant, part, count(call_ns) AS lengths, regr_slope(ln(call_ns), ln(tokens)) AS slope,
        regr_r2(ln(call_ns), ln(tokens)) AS r2
    FROM one WHERE call_ns > 0 GROUP BY variant, part
)
SELECT one.variant, one.part, tokens, calls, call_ns, call_cpu_ns, coalesce(lengths, 0) AS lengths,
    CASE WHEN lengths >= 3 THEN slope END AS exponent, CASE WHEN lengths >= 3 THEN r2 END AS r2
FROM one LEFT JOIN fit ON one.variant IS NOT DISTINCT FROM fit.variant AND one.part = fit.part
ORDER BY one.variant, place, tokens;
