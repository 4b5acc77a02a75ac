-- Updates of parameters in the selection, made once for all rules about the optimizer.
-- once: trained
CREATE OR REPLACE TEMP TABLE once_update AS FROM finding_update();
CREATE OR REPLACE TEMP MACRO finding_update() AS TABLE FROM once_update;
