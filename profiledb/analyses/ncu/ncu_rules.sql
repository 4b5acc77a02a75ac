-- title: Rules of a launch
-- What ncu's own rules say of one launch, word for word and in its order, with the speed-up that ncu estimates, and how
-- much of that the launch can reach: one at 91 % of the peak of the device memory gains at most 9 %, unless the rule
-- spares traffic (`profile_advice` of the findings).
-- page: kernel_profiles
-- needs: ncu_rule
-- includes: ncu
-- param: launch =  number of the launch (analysis ncu_speed_of_light); empty: all launches
-- column: launch_id | id | | number of the launch
-- column: section | text | | identifier of the section
-- column: rule | text | | identifier of the rule
-- column: type | text | | OPT what to improve, INF to know, WRN a warning, ERR the rule failed
-- column: message | text | | the message, verbatim
-- column: speedup_pct | % | .1f | estimated speed-up, empty where ncu gives none
-- column: speedup_type | text | | what the estimate refers to: global, the time of the kernel; local, this part of it
-- column: reach_pct = Can be reached | % | .1f | the estimate of the time of the kernel, as far as its roof leaves it; empty for L2 compression, which needs memory that is allocated as compressible
SELECT launch_id, section, rule, type, message, speedup_pct, speedup_type, reach_pct
FROM ncu_advice
WHERE $launch::INTEGER IS NULL OR launch_id = $launch::INTEGER
ORDER BY launch_id, position;
