-- title: Details page of a launch
-- The rows of ncu's details page for one launch, in its order, in base units.
-- page: kernel_profiles
-- show: section 240, label 280, value, unit, text, metric 360
-- needs: ncu_detail
-- param: launch =  number of the launch (analysis ncu_speed_of_light); empty: all launches
-- column: launch_id | id | | number of the launch
-- column: section | text | | title of the section
-- column: label = Row | text | | name of the value
-- column: value | number | | value in the base unit, empty for text or if not measured; the unit is in the next column
-- column: unit | text | | base unit of the value
-- column: text | text | | value, if it is text
-- column: metric | text | | metric behind it, if known
SELECT launch_id, section, label, value, unit, "text", metric
FROM ncu_detail
WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
ORDER BY launch_id, position;
