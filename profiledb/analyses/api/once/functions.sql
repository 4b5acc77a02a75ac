-- The CUDA functions called in the report, computed once for all rules: functions are few and calls many.
CREATE OR REPLACE TEMP TABLE once_api_function AS FROM api_function;
CREATE OR REPLACE TEMP VIEW api_function AS FROM once_api_function;
