-- The iterations that kernels tell, made once for all that asks whether there are any; no more than their starts is
-- looked for if there are none.
-- once: busy, names
-- noqa: disable=all
CREATE OR REPLACE TEMP TABLE once_iteration_start AS FROM iteration_start;
CREATE OR REPLACE TEMP VIEW iteration_start AS FROM once_iteration_start;
SET VARIABLE iterations = IF(EXISTS (FROM once_iteration_start), 'selected_iteration', 'no_kernel_iteration');
CREATE OR REPLACE TEMP TABLE once_iteration AS FROM query_table(getvariable('iterations'));
CREATE OR REPLACE TEMP VIEW selected_iteration AS FROM once_iteration;
