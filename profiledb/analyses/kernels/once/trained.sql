-- Operations of the selection with the pass that launched them, made once for all rules about training.
-- once: paths, backward
CREATE OR REPLACE TEMP TABLE once_trained AS FROM finding_trained;
CREATE OR REPLACE TEMP VIEW finding_trained AS FROM once_trained;
