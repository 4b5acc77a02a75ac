-- title: Details page of a launch
-- The rows of ncu's details page for one launch, in its order, in base units.
-- page: kernel_profiles
-- show: section 240, label 280, value, unit, text, metric 360
-- needs: ncu_detail
-- param: launch =  number of the launch (analysis ncu_speed_of_light); all where none is given
-- column: launch_id | id | | number of the launch
-- column: section | text | | title of the section
-- column: label = Row | text | | what the row shows
-- column: value | number | | value in the base unit, empty where it is a text or was not measured; the unit stands beside it
-- column: unit | text | | base unit of the value
-- column: text | text | | value if it is text
-- column: metric | text | | metric behind it, if known
SELECT launch_id, section, label, value, unit, "text", metric
FROM ncu_detail
WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
ORDER BY launch_id, position;
