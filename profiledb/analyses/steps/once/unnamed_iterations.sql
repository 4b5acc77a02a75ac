-- The iterations that kernels tell, made once, and not looked for if ranges tell the steps.
-- once: finding_steps, kernel_iterations unless finding_step
-- noqa: disable=all
SET VARIABLE unnamed = IF(EXISTS (FROM finding_step), 'no_iteration', 'unnamed_iteration');
CREATE OR REPLACE TEMP TABLE once_unnamed_iteration AS FROM query_table(getvariable('unnamed'));
CREATE OR REPLACE TEMP VIEW unnamed_iteration AS FROM once_unnamed_iteration;
