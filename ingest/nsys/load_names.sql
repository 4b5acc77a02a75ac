-- Names of ranges, and marks; ranges.write_names sets the maximum length of texts that the export stores once and rows
-- repeat. A domain (event type 75) belongs to a process.
CREATE OR REPLACE TEMP TABLE nvtx_domain AS
SELECT global_pid, "domainId" AS domain_id, cut(arg_min(coalesce(nvtx.text, string.value), start), 200) AS domain
FROM nvtx LEFT JOIN string ON string_id = "textId"
WHERE "eventType" = 75
GROUP BY ALL;

INSERT INTO range_name BY NAME
SELECT name_id, domain, cut(coalesce(value, own_text), getvariable('longest_name')) AS text,
    coalesce(domain || ':', '') || text AS name
FROM nvtx_key
LEFT JOIN nvtx_domain USING (global_pid, domain_id)
LEFT JOIN string ON string_id = text_id;

INSERT INTO mark BY NAME
SELECT row_id AS mark_id, start AS time_ns, name_id, "globalTid" AS global_tid, "domainId" AS domain_id, category,
    color, payload_uint64, payload_int64, payload_double, payload_json
FROM nvtx_event JOIN named USING (row_id) WHERE "eventType" = 34;
