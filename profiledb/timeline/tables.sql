-- The file of a timeline. Times are nanoseconds from the begin of the capture.

-- One row: what this was made from
CREATE TABLE t.made (
    origin_ns BIGINT, begin_ns BIGINT, end_ns BIGINT, report_bytes BIGINT, report_time_ns BIGINT, left_out BIGINT,
    log_bytes BIGINT, log_time_ns BIGINT
);

-- Steps of the program, in the order of time
CREATE TABLE t.step (s BIGINT, e BIGINT, name VARCHAR, is_warmup BOOLEAN);

-- Lanes in the order in which they stand below each other; a folder (GPU, process, thread) has no events
CREATE TABLE t.lane (
    id INTEGER, parent INTEGER, kind VARCHAR, title VARCHAR, detail VARCHAR, rows INTEGER, events BIGINT,
    busy_ns BIGINT, grp INTEGER, device INTEGER, pid BIGINT, stream BIGINT, tid BIGINT, unit VARCHAR, max DOUBLE,
    direct BOOLEAN, leveled BOOLEAN, sum_z TINYINT,
    first_ns BIGINT, last_ns BIGINT, source VARCHAR, median_ns DOUBLE
);

-- Names that no table of the report has, and the class of every name
CREATE TABLE t.own_name (id BIGINT, kind VARCHAR, number BIGINT, text VARCHAR, class VARCHAR);
CREATE TABLE t.name (code BIGINT, class VARCHAR);

-- Events of the lanes that are not read from the report's tables, by lane, row and start
CREATE TABLE t.event (lane INTEGER, row SMALLINT, s BIGINT, e BIGINT, name UINTEGER, ref BIGINT);

-- Lanes of many events in bins of 2^z ns, as a tile of that zoom shows them (binned.py)
CREATE TABLE t.level (
    z TINYINT, lane INTEGER, row SMALLINT, s BIGINT, e BIGINT, n INTEGER, busy BIGINT, name UINTEGER, ref BIGINT,
    d BIGINT
);

-- Sums of lanes of many events in bins of 2^sum_z ns, by where events begin; the union of the time lies in its bin
-- (sums.py)
CREATE TABLE t.name_sum (lane INTEGER, bin BIGINT, name UINTEGER, n BIGINT, ns BIGINT);
CREATE TABLE t.length_sum (lane INTEGER, bin BIGINT, bucket INTEGER, n BIGINT, low BIGINT, high BIGINT);
CREATE TABLE t.busy_sum (lane INTEGER, bin BIGINT, ns BIGINT);

-- The longest gaps of each lane of idle time, the longest first
CREATE TABLE t.gap (lane INTEGER, s BIGINT, e BIGINT, cause VARCHAR, during VARCHAR);

-- Values over time, as they were sampled or changed, and of many in bins of 2^z ns
CREATE TABLE t.point (lane INTEGER, s BIGINT, value DOUBLE);
CREATE TABLE t.point_level (
    z TINYINT, lane INTEGER, s BIGINT, n INTEGER, mean DOUBLE, low DOUBLE, high DOUBLE, last DOUBLE
);
