-- Times in which GPUs compute, computed once for all rules that check for overlap.
CREATE OR REPLACE TEMP TABLE once_compute AS FROM finding_compute;
CREATE OR REPLACE TEMP VIEW finding_compute AS FROM once_compute;
