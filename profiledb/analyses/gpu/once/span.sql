-- The active span of the GPUs, added up once for all rules: their values are shares of it.
CREATE OR REPLACE TEMP TABLE once_span AS FROM finding_window;
CREATE OR REPLACE TEMP VIEW finding_window AS FROM once_span;
