-- The times in which a GPU of the selection does nothing, made once for all that adds them up.
-- once: busy, earlier
CREATE OR REPLACE TEMP TABLE once_pause AS FROM selected_pause(1);
CREATE OR REPLACE TEMP MACRO selected_pause(min_ns) AS TABLE
SELECT device_id, a, b, is_earlier FROM once_pause WHERE b - a >= min_ns;
CREATE OR REPLACE TEMP MACRO selected_hole(min_ns) AS TABLE
SELECT device_id, a, b FROM once_pause WHERE b - a >= min_ns AND NOT is_earlier;
