-- Kernels that nobody but their makers can change.

-- Return true for kernels inside cuBLAS and cuDNN by their full name.
CREATE OR REPLACE MACRO is_closed_kernel(kernel) AS
    regexp_matches(kernel, '^(nvjet_|cudnn_)|cublas|cudnn::|_xmma_|^(maxwell|volta|turing|ampere)_\w*(gemm|cudnn)');

-- Return true for PyTorch's own kernels by their full name: programs replace them, but do not change them.
CREATE OR REPLACE MACRO is_torch_kernel(kernel) AS
    regexp_matches(kernel, '(^|[^A-Za-z_])at::native::|(^|[^A-Za-z_])softmax_warp_(for|back)ward');
