-- Time of the launches that Nsight Compute measured, from the linked Systems report: the total of all kernels of the
-- selection with the same name, grid and block (selected_pair). It replaces their own durations.
CREATE OR REPLACE TEMP TABLE finding_joined_time AS
SELECT launch_id, sum(total_ns)::BIGINT AS ns, sum(calls)::BIGINT AS calls
FROM selected_pair('dram', 'main') WHERE match = 'exact' GROUP BY launch_id;
CREATE OR REPLACE TEMP VIEW finding_launch_time AS FROM finding_joined_time;
