-- Communication kernels, and their time without overlapping compute, computed once for all rules about them.
CREATE OR REPLACE TEMP TABLE once_communication AS FROM finding_communication;
CREATE OR REPLACE TEMP VIEW finding_communication AS FROM once_communication;

CREATE OR REPLACE TEMP TABLE once_exposed AS FROM finding_exposed;
CREATE OR REPLACE TEMP VIEW finding_exposed AS FROM once_exposed;
