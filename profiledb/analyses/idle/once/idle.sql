-- The gaps of the selection and what the host did in them, made once for all analyses of idle time, for gaps of at
-- least 2000 ns, which is the default of each of them.
-- defaults: min_ns
-- once: pauses, paths
CREATE OR REPLACE TEMP TABLE once_idle AS FROM selected_idle(2000, NULL);
CREATE OR REPLACE TEMP MACRO selected_idle(min_ns, longest) AS TABLE
SELECT * FROM once_idle WHERE duration_ns >= min_ns AND (longest IS NULL OR gap_id <= longest);
