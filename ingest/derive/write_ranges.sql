-- Ranges with the numbers of nest.sql, and the calls that belong to several of them.
INSERT INTO range BY NAME
SELECT staged_range.*, parent_id, level, path_id, pre, post, parent_pre AS outer_pre
FROM staged_range JOIN number ON id = range_id LEFT JOIN parent USING (id) LEFT JOIN path_of USING (id);

INSERT INTO call_range SELECT call_id, thread_range, process_range FROM further_range;
INSERT INTO thread_driver FROM driver;
