-- CUDA calls, with the ranges that attribute.calls found.
INSERT INTO api_call BY NAME
SELECT row_id AS call_id, start AS start_ns, "end" AS end_ns, "globalTid" AS global_tid,
    "correlationId" AS correlation_id, "nameId" AS name_id, "eventClass" AS event_class,
    "returnValue" AS return_value, "callchainId" AS callchain_id, thread_range, process_range
FROM src.CUPTI_ACTIVITY_KIND_RUNTIME LEFT JOIN call_at USING (row_id);
