-- NVTX events and the numbers of their names, before anything is written (catalog "src" is the export).
CREATE OR REPLACE TEMP TABLE nvtx AS
SELECT coalesce("globalTid" - ("globalTid" & 16777215), -1) AS global_pid, *
FROM src.NVTX_EVENTS;

-- A name is a text of a domain; the string table, the row, or both hold the text.
CREATE OR REPLACE TEMP TABLE nvtx_key AS
SELECT row_number() OVER (ORDER BY first_row) AS name_id, * EXCLUDE (first_row)
FROM (
    SELECT global_pid, coalesce("domainId", -1) AS domain_id, coalesce("textId", -1) AS text_id,
        CASE WHEN "textId" IS NULL THEN coalesce(text, '') ELSE '' END AS own_text, min(row_id) AS first_row
    FROM nvtx WHERE "eventType" IN (34, 59, 60, 70, 71)
    GROUP BY ALL
);

CREATE OR REPLACE TEMP TABLE named AS
SELECT row_id, name_id
FROM nvtx
JOIN nvtx_key ON nvtx_key.global_pid = nvtx.global_pid AND domain_id = coalesce("domainId", -1)
    AND text_id = coalesce("textId", -1)
    AND own_text = CASE WHEN "textId" IS NULL THEN coalesce(text, '') ELSE '' END
WHERE "eventType" IN (34, 59, 60, 70, 71);
