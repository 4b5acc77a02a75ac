-- Kernel sums by GPU, stream and name, computed once for all rules that use names.
CREATE OR REPLACE TEMP TABLE once_kernel_sum AS FROM finding_kernel_sum;
CREATE OR REPLACE TEMP VIEW finding_kernel_sum AS FROM once_kernel_sum;
