-- title: Metrics of a launch
-- All metrics that ncu stored for one launch, by name, in base units.
-- page: kernel_profiles
-- show: name 520, value, unit 110, text 260
-- needs: ncu_metric
-- param: launch =  number of the launch (analysis ncu_speed_of_light); empty: all launches
-- param: search =  keeps metrics whose name contains this text, ignoring case; not a pattern
-- column: launch_id | id | | number of the launch
-- column: name = Metric | text | | name of the metric
-- column: value | number | | value in the base unit, empty for text; the unit is in the next column
-- column: unit | text | | base unit of the value
-- column: text | text | | value, if it is text
SELECT launch_id, name, value, unit, "text"
FROM ncu_metric JOIN ncu_metric_name USING (metric_id)
WHERE ($launch::INTEGER IS NULL OR launch_id = $launch::INTEGER)
    AND ($search::VARCHAR IS NULL OR contains(lower(name), lower($search::VARCHAR)))
ORDER BY launch_id, name;
