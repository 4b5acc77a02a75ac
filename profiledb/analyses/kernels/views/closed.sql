-- Kernels that nobody but their makers can change.

-- Return true for kernels inside cuBLAS and cuDNN by their full name.
CREATE OR REPLACE MACRO is_closed_kernel(kernel) AS
    regexp_matches(kernel, '^(nvjet_|cudnn_)|cublas|cudnn::|_xmma_|^(maxwell|volta|turing|ampere)_\w*(gemm|cudnn)');
