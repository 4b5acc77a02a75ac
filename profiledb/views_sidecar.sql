-- What the program that was profiled says of itself (sidecar.py), created as those of views.sql. Without such files these
-- are empty; the library puts the files of a report in front.

-- What it computed: batch, heads, tokens ... Names of nested values are joined by dots.
CREATE OR REPLACE VIEW meta AS SELECT NULL::VARCHAR AS key, NULL::VARCHAR AS value WHERE false;

-- What its own timers measured, a row a measurement.
CREATE OR REPLACE VIEW timing AS SELECT NULL::VARCHAR AS label, NULL::BIGINT AS step, NULL::DOUBLE AS seconds WHERE false;

-- A fact under one of several names, wherever it is nested; the outermost one first. NULL where there is none.
CREATE OR REPLACE MACRO meta_value(names) AS (
    SELECT value FROM meta WHERE list_contains(names, lower(regexp_extract(key, '[^.]*$')))
    ORDER BY len(string_split(key, '.')), key LIMIT 1
);
