-- Attention in its three parts, with b sequences, h heads, t tokens and d numbers per head.
-- includes: selection, sidecar, peak

-- A range of an NVTX domain is "domain:name": the pattern of a part applies to the name.
CREATE OR REPLACE MACRO is_part(name, pattern) AS regexp_full_match(name, '(?:[^:]*:)?(?:' || pattern || ')', 'i');

-- Tokens stated in the name of a range: tokens_512, seq_len=1024, "2048 tokens".
CREATE OR REPLACE MACRO tokens_of(name) AS TRY_CAST(nullif(concat(
    regexp_extract(name,
        '(?i)(?:^|[^a-z])(?:tokens|seq(?:uence)?(?:[ _-]?len(?:gth)?)?|length|context)[ _=:#-]*(\d{1,9})', 1),
    regexp_extract(name, '(?i)(?:^|\D)(\d{1,9})[ _-]*tokens', 1)), '') AS BIGINT);

-- A number in a payload under one of several names; none if the text is not JSON.
CREATE OR REPLACE MACRO payload_number(json, names) AS CASE WHEN json_valid(json) THEN
    list_filter(list_transform(names, LAMBDA name: TRY_CAST(json_extract_string(json, name) AS BIGINT)),
        LAMBDA n: n IS NOT NULL)[1] END;

-- Accepted names of facts and payload fields.
CREATE OR REPLACE MACRO batch_names() AS ['batch', 'batch_size', 'b', 'sequences'];
CREATE OR REPLACE MACRO head_names() AS ['heads', 'num_heads', 'n_heads', 'n_head', 'num_attention_heads', 'h'];
CREATE OR REPLACE MACRO token_names() AS
['tokens', 'seq_len', 'sequence_length', 'seqlen', 'seq_length', 'context', 't'];
CREATE OR REPLACE MACRO size_names() AS ['head_size', 'head_dim', 'd_head', 'head_dimension', 'd'];

-- A number as people and files write it; NULL for anything else.
CREATE OR REPLACE MACRO whole(text) AS
CASE WHEN TRY_CAST(text AS DOUBLE) BETWEEN 1 AND 1e9 THEN TRY_CAST(text AS DOUBLE)::BIGINT END;

-- Sequences that this process computed: the first number of the shape of its tokens, [16, 513]. The batch that the
-- program was asked for may cover all ranks together.
CREATE OR REPLACE MACRO meta_sequences() AS (
    SELECT whole(first.value) FROM meta AS first JOIN meta AS second ON second.key = regexp_replace(first.key, '0$',
        '1')
    WHERE regexp_matches(first.key, '(^|\.)(tokens|input_ids)\.0$') ORDER BY first.key LIMIT 1
);

-- Bytes of a number.
CREATE OR REPLACE MACRO element_bytes(kind) AS
CASE kind WHEN 'fp8' THEN 1 WHEN 'bf16' THEN 2 WHEN 'fp16' THEN 2 WHEN 'tf32' THEN 4 WHEN 'fp32' THEN 4
    WHEN 'fp64' THEN 8 END;

-- The precision of the peak for a part: softmax runs on the CUDA cores in FP32 or FP64, whatever the precision of the
-- products.
CREATE OR REPLACE MACRO peak_precision(part, kind) AS
CASE WHEN part = 'softmax' AND kind <> 'fp64' THEN 'fp32' ELSE kind END;

-- Peak of the report's GPU in each of some precisions (`gpu_peaks`): the slowest if several worked.
CREATE OR REPLACE MACRO attention_peak(precisions) AS TABLE
SELECT precision AS peak_precision, min(peak_flops_per_s) AS peak_flops_per_s, arg_min(source,
    peak_flops_per_s) AS peak_from,
    min(memory_bandwidth_bytes_per_s) AS peak_bytes_per_s
FROM gpu_peaks JOIN gpu USING (gpu_id)
WHERE list_contains(precisions, precision) AND (gpu_id IN (SELECT device_id FROM busy) OR NOT has_rows('busy'))
GROUP BY precision;

-- Every path with its attention part, or the part that encloses it: the outermost one whose name matches a pattern. The
-- variant is the name of the range around the part. Tokens come from the innermost name that states them.
CREATE OR REPLACE MACRO attention_path(of_scores, of_softmax, of_output) AS TABLE
WITH RECURSIVE named AS (
    SELECT path_id, parent_id, name, tokens_of(name) AS own_tokens, CASE WHEN is_part(name, of_scores) THEN 'scores'
        WHEN is_part(name, of_softmax) THEN 'softmax' WHEN is_part(name, of_output) THEN 'output' END AS own_part
    FROM range_path
), down AS (
    SELECT path_id, name, own_part AS part, CASE WHEN own_part IS NOT NULL THEN path_id END AS part_path,
        NULL::VARCHAR AS variant, own_tokens AS tokens
    FROM named WHERE parent_id IS NULL
    UNION ALL
    SELECT named.path_id, named.name, coalesce(down.part, own_part),
        coalesce(part_path, CASE WHEN own_part IS NOT NULL THEN named.path_id END),
        CASE WHEN down.part IS NULL THEN down.name ELSE down.variant END, coalesce(own_tokens, down.tokens)
    FROM down JOIN named ON named.parent_id = down.path_id
)
SELECT path_id, name, part, part_path, variant, tokens FROM down;

-- One row per range of the three parts, per range around a fused attention kernel, and for fused kernels outside
-- ranges, with their GPU work. `calls` are attentions: a fused one may need a second kernel that combines pieces.
-- Backward kernels of fused attention are a part of their own. Payloads of a range and of the ranges around it give its
-- size.
CREATE OR REPLACE MACRO selected_attention(of_scores, of_softmax, of_output) AS TABLE
WITH RECURSIVE path AS MATERIALIZED (
    FROM attention_path(of_scores, of_softmax, of_output)
), instance AS MATERIALIZED (
    SELECT range.range_id, range.pre, range.post, part, variant, tokens, end_ns - start_ns AS cpu_ns
    FROM selected_range AS range JOIN path USING (path_id) WHERE part_path = path_id
), inside AS MATERIALIZED (
    SELECT held.pre, instance.range_id
    FROM (SELECT pre FROM range JOIN path USING (path_id) WHERE part IS NOT NULL) AS held
    ASOF JOIN instance ON held.pre >= instance.pre WHERE held.pre <= instance.post
), work AS (
    SELECT range_id, count(*) AS kernels, sum(end_ns - start_ns)::BIGINT AS kernel_ns,
        sum(end_ns - start_ns) FILTER (class = 'matmul')::BIGINT AS matmul_ns
    FROM selected_kernel JOIN inside ON inside.pre = range_by_mode(thread_range, process_range)
    LEFT JOIN (SELECT name_id, class FROM kernel_name) USING (name_id)
    GROUP BY range_id
), fused_name AS (
    SELECT name_id,
        CASE WHEN regexp_matches(demangled, 'bwd|backward|bprop', 'i') THEN 'fused backward' ELSE 'fused' END AS part,
        NOT regexp_matches(short, 'combine|convert|dot_do_o|reduce|preprocess', 'i') AS is_main
    FROM kernel_name WHERE class = 'attention'
), fused_kernel AS MATERIALIZED (
    SELECT range_by_mode(thread_range, process_range) AS pre, end_ns - start_ns AS duration_ns, part, is_main
    FROM selected_kernel JOIN fused_name USING (name_id)
), fused AS (
    SELECT range.range_id, fused_kernel.part, any_value(path.name) AS variant, any_value(path.tokens) AS tokens,
        any_value(range.end_ns - range.start_ns) AS cpu_ns, count(*) FILTER (is_main) AS calls, count(*) AS kernels,
        sum(duration_ns)::BIGINT AS kernel_ns
    FROM fused_kernel ANTI JOIN inside USING (pre) LEFT JOIN range USING (pre) LEFT JOIN path USING (path_id)
    GROUP BY range.range_id, fused_kernel.part
), every_part AS MATERIALIZED (
    SELECT range_id, part, variant, tokens, cpu_ns, 1 AS calls, kernels, kernel_ns, matmul_ns
    FROM instance LEFT JOIN work USING (range_id)
    UNION ALL SELECT range_id, part, variant, tokens, cpu_ns, calls, kernels, kernel_ns, NULL FROM fused
), stated_size AS MATERIALIZED (
    SELECT range_id, payload_number(payload_json, batch_names()) AS batch,
        payload_number(payload_json, head_names()) AS heads,
        payload_number(payload_json, size_names()) AS head_size,
        coalesce(payload_number(payload_json, token_names()),
            CASE WHEN regexp_matches(name, '(^|[^a-z])(tokens|seq(uence)?(_?len(gth)?)?|context)([^a-z]|$)', 'i')
            THEN whole(coalesce(payload_int64::VARCHAR, payload_uint64::VARCHAR)) END) AS tokens
    FROM range JOIN range_path USING (path_id)
    WHERE coalesce(payload_json, payload_int64::VARCHAR, payload_uint64::VARCHAR) IS NOT NULL
), up AS (
    SELECT DISTINCT range_id AS leaf, range_id, 0 AS depth FROM every_part WHERE EXISTS (FROM stated_size)
    UNION ALL SELECT leaf, parent_id, depth + 1 FROM up JOIN range USING (range_id) WHERE parent_id IS NOT NULL
), size AS (
    SELECT leaf AS range_id, arg_min(batch, depth) FILTER (batch IS NOT NULL) AS batch,
        arg_min(heads, depth) FILTER (heads IS NOT NULL) AS heads,
        arg_min(head_size, depth) FILTER (head_size IS NOT NULL) AS head_size,
        arg_min(stated_size.tokens, depth) FILTER (stated_size.tokens IS NOT NULL) AS stated_tokens
    FROM up JOIN stated_size USING (range_id) GROUP BY leaf
)
SELECT part, variant, coalesce(stated_tokens, tokens) AS tokens, batch, heads, head_size,
    cpu_ns, calls, kernels, kernel_ns, matmul_ns
FROM every_part LEFT JOIN size USING (range_id);

-- Parts by variant and size: sizes that the ranges do not state are given, or are facts in the sidecar.
CREATE OR REPLACE MACRO selected_attention_part(of_scores, of_softmax, of_output, b, h, t, d) AS TABLE
WITH whole_fact AS (  -- facts that are whole numbers; of several with one meaning the outermost counts
    SELECT whole(value) AS n, (depth, key) AS place, lower(regexp_extract(key, '[^.]*$')) AS name
    FROM meta_fact(batch_names() || head_names() || token_names() || size_names()) WHERE whole(value) IS NOT NULL
), fact AS (
    SELECT coalesce(whole(b), meta_sequences(), arg_min(n, place) FILTER (list_contains(batch_names(), name))) AS b,
        coalesce(whole(h), arg_min(n, place) FILTER (list_contains(head_names(), name))) AS h,
        coalesce(whole(t), arg_min(n, place) FILTER (list_contains(token_names(), name))) AS t,
        coalesce(whole(d), arg_min(n, place) FILTER (list_contains(size_names(), name))) AS d
    FROM whole_fact
), whole_part AS (
    SELECT variant, coalesce(tokens, fact.t) AS tokens, coalesce(whole(b), batch, fact.b) AS batch,
        coalesce(whole(h), heads, fact.h) AS heads, coalesce(whole(d), head_size, fact.d) AS head_size, part,
        sum(calls)::BIGINT AS calls, sum(kernels)::BIGINT AS kernels, sum(cpu_ns)::BIGINT AS cpu_ns,
        sum(kernel_ns)::BIGINT AS kernel_ns, sum(matmul_ns)::BIGINT AS matmul_ns
    FROM selected_attention(of_scores, of_softmax, of_output), fact
    GROUP BY ALL
)
SELECT *, CASE part WHEN 'scores' THEN 1 WHEN 'softmax' THEN 2 WHEN 'output' THEN 3 WHEN 'fused' THEN 4
    ELSE 5 END AS place
FROM whole_part;
