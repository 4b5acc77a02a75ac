-- The iterations that kernels tell, made once for all that asks whether there are any.
-- once: busy, names
CREATE OR REPLACE TEMP TABLE once_iteration AS FROM selected_iteration;
CREATE OR REPLACE TEMP VIEW selected_iteration AS FROM once_iteration;
