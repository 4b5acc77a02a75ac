-- Number the ranges of every lane as nested sets. A lane is one thread, or a set of its ranges that nest if ranges
-- cross (lanes.py). Input: span(id, tid, lane, s, e), each with a duration above 0.

CREATE OR REPLACE TEMP TABLE event AS
WITH edge AS (
    SELECT tid, lane, id, s AS t, 1 AS k, -e AS other FROM span UNION ALL SELECT tid, lane, id, e, -1, -s FROM span
)
SELECT tid, lane, id, t, k, row_number() OVER w AS seq, (sum(k) OVER (w ROWS UNBOUNDED PRECEDING))::BIGINT AS depth,
    (seq + depth) // 2 AS begun  -- ranges that started so far
FROM edge
-- Ends sort before starts; of ranges with equal edges, the first one in the file encloses the others.
WINDOW w AS (PARTITION BY tid, lane ORDER BY t, k, other, id * k);

CREATE OR REPLACE TEMP TABLE numbered AS
WITH lane AS (
    SELECT tid, lane, (sum(count(*)) OVER (ORDER BY tid, lane) - count(*))::BIGINT AS before FROM span
    GROUP BY tid, lane
)
SELECT tid, lane, id, min(t) AS s, max(t) AS e,
    max(depth) FILTER (k = 1) AS depth,  -- at its start, even if ranges cross
    before + min(begun) AS pre, before + max(begun) AS post
FROM event JOIN lane USING (tid, lane) GROUP BY tid, lane, id, before;

CREATE OR REPLACE TEMP TABLE nested AS
SELECT one.*, up.id AS parent_id, up.pre AS parent_pre, up.e AS parent_e
FROM numbered AS one ASOF LEFT JOIN (SELECT *, depth + 1 AS below FROM numbered) AS up
    ON one.tid = up.tid AND one.lane = up.lane AND one.depth = up.below AND one.pre > up.pre;

-- The innermost range of a lane from t on; pre is 0 if none is open.
CREATE OR REPLACE TEMP TABLE timeline AS
WITH last AS (
    SELECT event.tid, event.lane, t, arg_max(CASE k WHEN 1 THEN pre ELSE coalesce(parent_pre, 0) END, seq) AS pre
    FROM event JOIN nested USING (id) GROUP BY event.tid, event.lane, t
)
SELECT last.*, id, s, e FROM last LEFT JOIN nested USING (pre);
