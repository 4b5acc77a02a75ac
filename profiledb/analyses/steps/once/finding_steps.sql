-- The steps that count of the best loop of each process, made once for all rules that tell something of them.
-- once: steps, active
CREATE OR REPLACE TEMP TABLE once_finding_step AS FROM finding_step;
CREATE OR REPLACE TEMP VIEW finding_step AS FROM once_finding_step;
