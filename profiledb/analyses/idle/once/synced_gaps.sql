-- Waits of the CPU for the GPU, and the gaps that shrink without them, made once for all rules about synchronization.
-- once: functions, idle, signs
-- noqa: disable=all
CREATE OR REPLACE TEMP TABLE once_wait AS FROM finding_wait();
CREATE OR REPLACE TEMP MACRO finding_wait() AS TABLE FROM once_wait;

SET VARIABLE waits = EXISTS (FROM once_wait);
CREATE OR REPLACE TEMP TABLE once_synced_gap AS FROM finding_synced_gap() WHERE getvariable('waits');
CREATE OR REPLACE TEMP MACRO finding_synced_gap() AS TABLE FROM once_synced_gap;
