-- When GPUs compute, made once for all rules that ask what ran beside it.
CREATE OR REPLACE TEMP TABLE once_compute AS FROM finding_compute;
CREATE OR REPLACE TEMP VIEW finding_compute AS FROM once_compute;
