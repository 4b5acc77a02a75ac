-- CPU calls with the ranges that attribution.calls found; attribution.others finds the ranges of other events.
INSERT INTO api_call BY NAME
SELECT staged_api_call.*, thread_range, process_range FROM staged_api_call LEFT JOIN call_at USING (call_id);

INSERT INTO osrt_call BY NAME FROM staged_osrt_call;
INSERT INTO mpi_call BY NAME FROM staged_mpi_call;
INSERT INTO openmp_event BY NAME FROM staged_openmp_event;
