-- The steps of the selection, made once for all that tells something of them.
CREATE OR REPLACE TEMP TABLE once_step AS FROM selected_step('process');
CREATE OR REPLACE TEMP MACRO selected_step(mode_of_gpu) AS TABLE FROM once_step;
CREATE OR REPLACE TEMP MACRO selected_counted_step(mode_of_gpu) AS TABLE
SELECT * FROM once_step WHERE closed AND NOT is_warmup;
