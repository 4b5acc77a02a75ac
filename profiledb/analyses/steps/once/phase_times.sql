-- Kernel time of the selection by phase, made once for all that tells something of phases.
-- once: steps
CREATE OR REPLACE TEMP TABLE once_phase_time AS FROM selected_phase_time('process');
CREATE OR REPLACE TEMP MACRO selected_phase_time(mode_of_range) AS TABLE FROM once_phase_time;
