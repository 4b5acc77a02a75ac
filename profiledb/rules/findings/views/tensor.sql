-- Units and precision of a kernel's products, by its name.

-- The unit of a matrix product or convolution, 'tensor' or 'cuda' cores; NULL if the name does not tell. cuBLAS names
-- the instruction (s16816, h884, tensor16x8x16, gmma, ffma), CUTLASS the class (tensorop, wgmma, simt); nvjet runs on
-- tensor cores only, a plain sgemm or scudnn on none.
CREATE OR REPLACE MACRO product_unit(name) AS CASE
    WHEN regexp_matches(name, 'nvjet|tensorop|wgmma|[dghiq]mma|utcmma|tcgen05|_tensor\d|warpgroupsize'
        || '|(^|[^a-z0-9])[a-z]?(884|1688|8816|8832|16816|16832|16864|168128)[a-z_]'
        || '|flash|sdpa|fmha|mha_|marlin|tf32', 'i') THEN 'tensor'
    WHEN regexp_matches(name, 'ffma|simt|sgemm|gemmSN_|scudnn|dfma|winograd|wgrad_alg\d_engine<float', 'i') THEN 'cuda'
END;

-- Bits of the numbers that a kernel on tensor cores multiplies, by its name; NULL if it does not tell.
CREATE OR REPLACE MACRO product_bits(name) AS CASE
    WHEN regexp_matches(name, 'e4m3|e5m2|fp[48]|float8|qmma|nvjet_(sm\d+_)?q|mxf|nvf4'
        || '|_i(8816|16832|16864)|(^|_)s8(s8)?_|int8|imma', 'i') THEN 8
    WHEN regexp_matches(name, 'nvjet_(sm\d+_)?[th]|bf16|bfloat|_f16|fp16|half|h(884|1688|16816)', 'i') THEN 16
    WHEN regexp_matches(name, 'f64|double|dmma|d884|dgemm|nvjet_(sm\d+_)?d', 'i') THEN 64
    WHEN regexp_matches(name, 'tf32|f32f32|fmha\w*_f32|nvjet_(sm\d+_)?s|s1688', 'i') THEN 32
END;

-- Products of tensor cores that a kernel computes for each of its own, by its name: PyTorch's memory-efficient
-- attention in FP32 splits each number in two and computes three in TF32 (CUTLASS calls it OpMultiplyAddFastF32).
CREATE OR REPLACE MACRO product_passes(name) AS
CASE WHEN regexp_matches(name, 'fmha_cutlass[FB]_f32_\w*sm80') THEN 3 ELSE 1 END;

-- Names of kernels with products large enough for tensor cores: no products with a vector, no sums of parts, no
-- preparation of tables.
CREATE OR REPLACE VIEW product_name AS
SELECT name_id, demangled, short, class, product_unit(demangled) AS unit, product_bits(demangled) AS bits
FROM kernel_name
WHERE class IN ('matmul', 'convolution', 'attention') AND NOT regexp_matches(demangled, 'gemv|gemmk1|split_?k_?reduce'
    || '|epilogue|depthwise|workspace|offsets|cask_plugin|im2col|col2im|fft|combine|convert|dot_do_o|preprocess', 'i');

-- Whether a matrix product is one with a vector, or with at most eight of them: tiles of nvjet with eight columns, in
-- clusters of one column of tiles (4x1). A cluster of several columns (2x4) is of a product with more vectors, in tiles
-- so small that they fill the GPU.
CREATE OR REPLACE MACRO is_vector_product(name) AS regexp_matches(name,
    '(?i)gemv|gemmk1|(^|[^a-z])dot_kernel|mat_?vec|nvjet_(sm\d+_)?[a-z]+_(\d+x8|8x\d+)_\d+x\d+_(\d+x1|[hv])_');

-- Return true for a kernel of PyTorch whose result is of truth values: a comparison, or whether any or all are true.
CREATE OR REPLACE MACRO is_condition(name) AS
regexp_matches(name, 'ReduceOp<bool,|(Binary|AUnary|BUnary)Functor<([\w:]+, )+bool,');

-- Kernels that compute in FP64. In a name that also has a smaller type, `double` counts only as a pointer or as the
-- first argument of a template: elsewhere it is a number passed to the kernel. CuPy's kernels are named after the types
-- of their arguments (cupy_multiply__complex128_float64_complex128).
CREATE OR REPLACE VIEW double_kernel AS
SELECT name_id, coalesce(bits = 64, false) AS is_product, unit
FROM (SELECT name_id, demangled FROM kernel_name) AS named
LEFT JOIN (SELECT name_id, bits, unit FROM product_name) USING (name_id)
WHERE bits = 64 OR (
        bits IS NULL AND (
            regexp_matches(demangled,
                'dgemm|[^a-z]d884|dgemv|<double\b|\bdouble( const)? ?\*|^cupy_\w*_(float64|complex128)') OR (
                regexp_matches(demangled, '\bdouble\b')
                AND NOT regexp_matches(demangled, '\b(float[248]?|(__)?half2?|Half|BFloat16|(__nv_)?bfloat16)\b')
            )
        )
    );
