-- NVTX ranges with their payloads, in the form of ingest/derive/staging.py. Before they are written, ranges.write_names
-- sets the maximum length of texts that the export stores once and rows repeat, and fills "string".
CREATE OR REPLACE TEMP VIEW nvtx_event AS
SELECT nvtx.*, coalesce("uint64Value", "uint32Value"::UBIGINT) AS payload_uint64,
    coalesce("int64Value", "int32Value") AS payload_int64, coalesce("doubleValue", "floatValue") AS payload_double,
    coalesce("jsonText", cut(json.value, getvariable('longest_json')), src.clean(payload.value)) AS payload_json
FROM nvtx LEFT JOIN string AS json ON json.string_id = "jsonTextId" LEFT JOIN payload USING (row_id);

DROP TABLE temp.staged_range;
CREATE TEMP VIEW staged_range AS
SELECT row_id AS range_id, start AS start_ns,
    coalesce("end", (SELECT greatest(max(start), max("end")) FROM nvtx)) AS end_ns, "end" IS NOT NULL AS closed,
    CASE WHEN "eventType" IN (59, 70) THEN 'PushPop' ELSE 'StartEnd' END AS style, "eventType" AS event_type, name_id,
    "globalTid" AS global_tid, "endGlobalTid" AS end_global_tid, "domainId" AS domain_id, category, color,
    "rangeId" AS nvtx_id, payload_uint64, payload_int64, payload_double, payload_json
FROM nvtx_event JOIN named USING (row_id)
WHERE "eventType" IN (59, 60, 70, 71);
