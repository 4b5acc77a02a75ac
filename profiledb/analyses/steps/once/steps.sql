-- Steps of the selection, computed once for all rules with values per step.
CREATE OR REPLACE TEMP TABLE once_step AS FROM selected_step('process');
CREATE OR REPLACE TEMP MACRO selected_step(mode_of_gpu) AS TABLE FROM once_step;
CREATE OR REPLACE TEMP MACRO selected_counted_step(mode_of_gpu) AS TABLE
SELECT * FROM once_step WHERE closed AND NOT is_warmup;

CREATE OR REPLACE TEMP TABLE once_finding_step AS FROM finding_step;
CREATE OR REPLACE TEMP VIEW finding_step AS FROM once_finding_step;
