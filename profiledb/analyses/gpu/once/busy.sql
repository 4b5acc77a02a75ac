-- When each GPU worked in the selection, made once for all that asks when it did not.
CREATE OR REPLACE TEMP TABLE once_busy AS FROM selected_busy;
CREATE OR REPLACE TEMP VIEW selected_busy AS FROM once_busy;
