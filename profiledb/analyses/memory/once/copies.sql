-- Memcpy and memset operations that blocked the CPU, computed once for the rules on each reason.
CREATE OR REPLACE TEMP TABLE once_held_copy AS FROM finding_held_copy;
CREATE OR REPLACE TEMP VIEW finding_held_copy AS FROM once_held_copy;
