-- Paths of ranges with a star for the last number of each name, made once for all that asks which ranges are one.
CREATE OR REPLACE TEMP TABLE once_path_pattern AS FROM path_pattern;
CREATE OR REPLACE TEMP VIEW path_pattern AS FROM once_path_pattern;
