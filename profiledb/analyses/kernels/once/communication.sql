-- Communication kernels, made once for all rules about them.
-- tells: finding_communication
CREATE OR REPLACE TEMP TABLE once_communication AS FROM finding_communication;
CREATE OR REPLACE TEMP VIEW finding_communication AS FROM once_communication;
