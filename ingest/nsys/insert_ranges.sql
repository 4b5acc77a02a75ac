-- Ranges with the numbers of nest.sql, and what call belongs to several of them.
INSERT INTO range BY NAME
SELECT row_id AS range_id, start AS start_ns, e AS end_ns, "end" IS NOT NULL AS closed,
    CASE WHEN pushed THEN 'PushPop' ELSE 'StartEnd' END AS style, "eventType" AS event_type, name_id,
    "globalTid" AS global_tid, "endGlobalTid" AS end_global_tid, "domainId" AS domain_id, category, color,
    "rangeId" AS nvtx_id, parent_id, level, path_id, pre, post, parent_pre AS outer_pre,
    payload_uint64, payload_int64, payload_double, payload_json
FROM nvtx_event JOIN opened ON id = row_id JOIN number USING (id) LEFT JOIN parent USING (id) LEFT JOIN path_of USING (id);

INSERT INTO call_range SELECT row_id, thread_range, process_range FROM further_range;
INSERT INTO thread_driver FROM driver;
