-- The time that the capture and the selection cover, and from when to when each GPU worked, made once for all: most
-- values are shares of it.
CREATE OR REPLACE TEMP TABLE once_capture_window AS FROM capture_window;
CREATE OR REPLACE TEMP VIEW capture_window AS FROM once_capture_window;

CREATE OR REPLACE TEMP TABLE once_window AS FROM selected_window;
CREATE OR REPLACE TEMP VIEW selected_window AS FROM once_window;

CREATE OR REPLACE TEMP TABLE once_active AS FROM selected_active;
CREATE OR REPLACE TEMP VIEW selected_active AS FROM once_active;
