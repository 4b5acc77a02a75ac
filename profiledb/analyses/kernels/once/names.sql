-- Names of kernels, made once for all that shows some.
CREATE OR REPLACE TEMP TABLE once_kernel_key AS FROM kernel_key;
CREATE OR REPLACE TEMP VIEW kernel_key AS FROM once_kernel_key;
