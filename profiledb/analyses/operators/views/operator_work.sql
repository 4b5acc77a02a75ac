-- FLOPs and bytes of operators from their input shapes: a model, not a measurement. docs/operators.md has the formulas
-- with their sources.

-- Bytes per element, from the type in a trace; NULL for non-tensors.
CREATE OR REPLACE MACRO operator_element_bytes(type) AS CASE
    WHEN type IN ('float', 'int', 'unsigned int', 'c10::complex<c10::Half>') THEN 4
    WHEN type IN ('double', 'long int', 'long', 'long long', 'unsigned long', 'c10::complex<float>') THEN 8
    WHEN type IN ('c10::Half', 'c10::BFloat16', 'short', 'short int', 'unsigned short') THEN 2
    WHEN type IN ('bool', 'char', 'signed char', 'unsigned char') OR starts_with(type, 'c10::Float8') THEN 1
    WHEN type = 'c10::complex<double>' THEN 16
END;

-- Precision of the arithmetic, from the input type.
CREATE OR REPLACE MACRO operator_precision(type) AS CASE
    WHEN type = 'float' THEN 'fp32' WHEN type = 'double' THEN 'fp64' WHEN type = 'c10::Half' THEN 'fp16'
    WHEN type = 'c10::BFloat16' THEN 'bf16' WHEN starts_with(type, 'c10::Float8') THEN 'fp8'
END;

-- Sizes, strides and similar values as numbers; NULL if one is out of range, so that no sum or product is too large.
CREATE OR REPLACE MACRO operator_numbers(text) AS CASE
    WHEN len(list_filter(TRY_CAST(text AS BIGINT[]), x -> x IS NULL OR x NOT BETWEEN 0 AND 1_000_000_000_000)) = 0
        THEN TRY_CAST(text AS BIGINT[])
END;

-- Product of sizes; 1 for a scalar's empty list. NULL if there is no list, or for a negative size.
CREATE OR REPLACE MACRO operator_product(sizes) AS CASE
    WHEN sizes IS NULL OR list_min(sizes) < 0 OR list_contains(sizes, NULL) THEN NULL
    WHEN len(sizes) = 0 THEN 1.0 ELSE list_product(sizes)
END;

-- The value of a list for an axis: a single value stands for all axes.
CREATE OR REPLACE MACRO operator_axis(list, axis) AS list[least(axis, len(list))];

-- FLOPs of `out[m, n] = a[m, k] @ b[k, n]`, of batches of matrices with equal leading sizes, and of products with a
-- vector. NULL if sizes do not match.
CREATE OR REPLACE MACRO operator_matmul_flops(a, b) AS CASE
    WHEN len(a) = 0 OR len(b) = 0 OR a[-1] <> b[CASE WHEN len(b) = 1 THEN 1 ELSE -2 END] THEN NULL
    WHEN len(b) = 1 THEN 2 * operator_product(a)
    WHEN len(a) = 1 THEN 2 * operator_product(b)
    ELSE 2 * a[-2]::DOUBLE * a[-1] * b[-1] * greatest(operator_product(a[:-3]), operator_product(b[:-3]))
END;

-- Output sizes of a convolution, without batch and channels.
CREATE OR REPLACE MACRO operator_conv_sizes(x, w, stride, padding, dilation) AS
list_transform(range(3, len(x) + 1), axis -> (
    x[axis] + 2 * operator_axis(padding, axis - 2) - operator_axis(dilation, axis - 2) * (w[axis] - 1) - 1
) // nullif(operator_axis(stride, axis - 2), 0) + 1);

-- FLOPs of both matrix products of an attention, and of the five of its backward pass; q, k and v are sizes [batch,
-- heads, tokens, size], in a `flat` layout [batch, tokens, heads, size]. A causal one counts half.
CREATE OR REPLACE MACRO operator_attention_flops(q, k, v, flat, backward, causal) AS CASE
    WHEN len(q) = 4 AND len(k) = 4 AND len(v) = 4 AND q[4] = k[4]
        THEN 2 * q[1]::DOUBLE * q[2] * q[3] * k[CASE WHEN flat THEN 2 ELSE 3 END]
        * CASE WHEN backward THEN 3 * q[4] + 2 * v[4] ELSE q[4] + v[4] END / CASE WHEN causal THEN 2 ELSE 1 END
END;

-- Formula of an operator, and the positions of its inputs, from 1: the two factors, or input and weight, or query, key
-- and value in sequence; values such as strides.
CREATE OR REPLACE VIEW operator_formula AS
SELECT * FROM (VALUES
    ('aten::mm', 'matmul', 1, 2), ('aten::bmm', 'matmul', 1, 2), ('aten::matmul', 'matmul', 1, 2),
    ('aten::mv', 'matmul', 1, 2), ('aten::dot', 'matmul', 1, 2), ('aten::_int_mm', 'matmul', 1, 2),
    ('aten::_scaled_mm', 'matmul', 1, 2), ('aten::addmm', 'matmul', 2, 3), ('aten::addmv', 'matmul', 2, 3),
    ('aten::baddbmm', 'matmul', 2, 3), ('aten::_addmm_activation', 'matmul', 2, 3), ('aten::linear', 'linear', 1, 2)
) AS formula (name, family, a, b);
CREATE OR REPLACE VIEW operator_conv_formula AS
SELECT * FROM (VALUES
    ('aten::conv1d', 4, 5, 6, NULL, false), ('aten::conv2d', 4, 5, 6, NULL, false),
    ('aten::conv3d', 4, 5, 6, NULL, false), ('aten::conv_transpose1d', 4, 5, 8, NULL, true),
    ('aten::conv_transpose2d', 4, 5, 8, NULL, true), ('aten::conv_transpose3d', 4, 5, 8, NULL, true),
    ('aten::convolution', 4, 5, 6, 7, false), ('aten::_convolution', 4, 5, 6, 7, false),
    ('aten::convolution_overrideable', 4, 5, 6, 7, false), ('aten::cudnn_convolution', 4, 3, 5, NULL, false),
    ('aten::miopen_convolution', 5, 4, 6, NULL, false), ('aten::mkldnn_convolution', 5, 4, 6, NULL, false),
    ('aten::cudnn_convolution_transpose', 5, 3, 6, NULL, true), ('aten::_slow_conv2d_forward', 5, 6, NULL, NULL, false),
    ('aten::_conv_depthwise2d', 5, 6, 7, NULL, false), ('aten::cudnn_convolution_relu', 4, 5, 6, NULL, false)
) AS formula (name, stride, padding, dilation, transposed, is_transposed);
CREATE OR REPLACE VIEW operator_attention_formula AS
SELECT * FROM (VALUES
    ('aten::scaled_dot_product_attention', 1, 6, NULL, false, false),
    ('aten::_scaled_dot_product_flash_attention', 1, 5, NULL, false, false),
    ('aten::_scaled_dot_product_flash_attention_for_cpu', 1, 5, NULL, false, false),
    ('aten::_scaled_dot_product_efficient_attention', 1, 7, NULL, false, false),
    ('aten::_scaled_dot_product_cudnn_attention', 1, 7, NULL, false, false),
    ('aten::_flash_attention_forward', 1, 9, 4, true, false),
    ('aten::_efficient_attention_forward', 1, 10, 5, true, false),
    ('aten::_scaled_dot_product_flash_attention_backward', 2, 12, 7, false, true),
    ('aten::_scaled_dot_product_flash_attention_for_cpu_backward', 2, 8, NULL, false, true),
    ('aten::_scaled_dot_product_efficient_attention_backward', 2, 12, NULL, false, true),
    ('aten::_scaled_dot_product_cudnn_attention_backward', 2, 15, 10, false, true),
    ('aten::_flash_attention_backward', 2, 12, 7, true, true),
    ('aten::_efficient_attention_backward', 2, 15, 7, true, true)
) AS formula (name, q, causal, lengths, is_flat, is_backward);

-- Reads and writes of operators with their own kernels, by mode: all inputs and an output (map), the first input also
-- written (inplace), the second into the first (copy), the first written (fill) or read (reduce), the first read and as
-- much written (same).
CREATE OR REPLACE VIEW operator_traffic AS
SELECT 'aten::' || unnest(names) AS name, way FROM (VALUES
    ('map', ['add', 'sub', 'mul', 'div', 'gelu', 'relu', 'silu', 'sigmoid', 'tanh', 'exp', 'log', 'sqrt', 'rsqrt',
        'neg', 'abs', 'pow', 'clamp', 'where', 'maximum', 'minimum', 'gelu_backward', 'silu_backward',
        'threshold_backward', 'sigmoid_backward', 'tanh_backward',
        '_softmax_backward_data', '_log_softmax_backward_data', 'addcmul',
        'addcdiv', 'lerp']),
    ('inplace', ['add_', 'sub_', 'mul_', 'div_', 'relu_', 'silu_', 'exp_', 'sqrt_', 'neg_', 'clamp_', 'masked_fill_',
        'addcmul_', 'addcdiv_', 'lerp_']),
    ('copy', ['copy_']), ('fill', ['fill_']), ('reduce', ['sum', 'mean', 'amax', 'amin']),
    ('same', ['_softmax', '_log_softmax', 'native_layer_norm', 'tril', 'triu'])
) AS traffic (way, names);

-- Operators by all inputs of the work model: name, sizes, types, strides and values of the inputs, as lists.
CREATE OR REPLACE VIEW operator_signature AS
WITH signature AS (
    SELECT DISTINCT name_id, dims_id, types_id, strides_id, values_id
    FROM operator JOIN range USING (range_id) WHERE dims_id IS NOT NULL
), json AS (
    SELECT signature.*, text AS name, d.value AS dims, t.value AS types, s.value AS strides, v.value AS "values"
    FROM signature JOIN range_name USING (name_id) LEFT JOIN string AS d ON d.string_id = dims_id
    LEFT JOIN string AS t ON t.string_id = types_id LEFT JOIN string AS s ON s.string_id = strides_id
    LEFT JOIN string AS v ON v.string_id = values_id
    WHERE json_valid(dims)
)
SELECT name_id, dims_id, types_id, strides_id, values_id, name,
    list_transform(TRY_CAST(dims AS JSON[]), x -> operator_numbers(x)) AS sizes,
    coalesce(CASE WHEN json_valid(types) THEN TRY_CAST(types::JSON AS VARCHAR[]) END, []) AS types,
    coalesce(CASE WHEN json_valid(strides)
        THEN list_transform(TRY_CAST(strides AS JSON[]), x -> operator_numbers(x)) END, []) AS strides,
    coalesce(CASE WHEN json_valid("values") THEN TRY_CAST("values"::JSON AS VARCHAR[]) END, []) AS "values"
FROM json;

-- Distinct elements of an input in memory: an axis with stride 0 repeats the same.
CREATE OR REPLACE MACRO operator_elements(sizes, strides) AS CASE
    WHEN len(strides) = len(sizes) AND len(sizes) > 0
        THEN operator_product(list_transform(range(1, len(sizes) + 1), axis -> CASE WHEN strides[axis] = 0 THEN 1
            ELSE sizes[axis] END))
    ELSE operator_product(sizes)
END;
