-- The time of communication without overlapping compute, made once for all that tells something of it.
-- once: communication, compute
CREATE OR REPLACE TEMP TABLE once_exposed AS
FROM finding_exposed WHERE has_finding_communication()
UNION ALL SELECT 0, 0 WHERE NOT has_finding_communication();
CREATE OR REPLACE TEMP VIEW finding_exposed AS FROM once_exposed;
