-- Active span of each GPU, and the time that the capture covers, computed once for all rules: their values are shares
-- of it.
CREATE OR REPLACE TEMP TABLE once_active AS FROM selected_active;
CREATE OR REPLACE TEMP VIEW selected_active AS FROM once_active;

CREATE OR REPLACE TEMP TABLE once_capture_window AS FROM capture_window;
CREATE OR REPLACE TEMP VIEW capture_window AS FROM once_capture_window;
