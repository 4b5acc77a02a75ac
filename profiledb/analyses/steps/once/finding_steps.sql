-- The steps that count of the best loop of each process, made once for all rules that tell something of them.
-- once: steps, active
-- tells: finding_step
-- noqa: disable=all
SET VARIABLE steps = EXISTS (FROM selected_counted_step('process') WHERE leads);
CREATE OR REPLACE TEMP TABLE once_finding_step AS FROM finding_step WHERE getvariable('steps');
CREATE OR REPLACE TEMP VIEW finding_step AS FROM once_finding_step;
