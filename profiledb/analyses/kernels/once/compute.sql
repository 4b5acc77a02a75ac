-- Times in which GPUs compute, computed once for all rules that check for overlap, and the span that they are cut to.
CREATE OR REPLACE TEMP TABLE once_compute AS FROM finding_compute;
CREATE OR REPLACE TEMP VIEW finding_compute AS FROM once_compute;

CREATE OR REPLACE TEMP TABLE once_edge AS FROM finding_edge;
CREATE OR REPLACE TEMP VIEW finding_edge AS FROM once_edge;
