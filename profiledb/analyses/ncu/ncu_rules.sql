-- title: Rules of a launch
-- Results of ncu's own rules for one launch, verbatim and in ncu's order, with ncu's estimated speed-up and its
-- reachable part: a launch at 91 % of the peak of the device memory gains at most 9 %, unless the rule spares traffic
-- (`profile_advice` of the findings).
-- page: kernel_profiles
-- needs: ncu_rule
-- includes: ncu
-- param: launch =  number of the launch (analysis ncu_speed_of_light); empty: all launches
-- column: launch_id | id | | number of the launch
-- column: section | text | | identifier of the section
-- column: rule | text | | identifier of the rule
-- column: type | text | | OPT optimization, INF information, WRN warning, ERR failed rule
-- column: message | text | | the message, verbatim
-- column: speedup_pct | % | .1f | estimated speed-up, empty if ncu gives none
-- column: speedup_type | text | | reference of the estimate: global, the kernel's time; local, a part of it
-- column: reach_pct = Can be reached | % | .1f | estimate for the kernel's time, limited by its roof; empty for L2 compression, which needs memory allocated as compressible
SELECT launch_id, section, rule, type, message, speedup_pct, speedup_type, reach_pct
FROM ncu_advice
WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
ORDER BY launch_id, position;
