-- Memory of each device after each event and between steps, computed once for both analyses of steps.
CREATE OR REPLACE TEMP TABLE once_tensor_level AS FROM tensor_level;
CREATE OR REPLACE TEMP VIEW tensor_level AS FROM once_tensor_level;

CREATE OR REPLACE TEMP TABLE once_tensor_step AS FROM selected_tensor_step;
CREATE OR REPLACE TEMP VIEW selected_tensor_step AS FROM once_tensor_step;
