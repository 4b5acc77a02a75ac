-- Work from before the capture, which few reports have, looked for once for all parts of a report.
-- whole: earlier_work
-- tells: earlier_work
CREATE OR REPLACE TEMP TABLE once_earlier_work AS FROM earlier_work;
CREATE OR REPLACE TEMP VIEW earlier_work AS FROM once_earlier_work;
