-- What each device holds after each event, the lives of allocations and their stacks as text, made once for all
-- analyses of the memory of tensors.
CREATE OR REPLACE TEMP TABLE once_tensor_level AS FROM tensor_level;
CREATE OR REPLACE TEMP VIEW tensor_level AS FROM once_tensor_level;

CREATE OR REPLACE TEMP TABLE once_tensor_life AS FROM tensor_life;
CREATE OR REPLACE TEMP VIEW tensor_life AS FROM once_tensor_life;

CREATE OR REPLACE TEMP TABLE once_tensor_stack AS FROM tensor_stack;
CREATE OR REPLACE TEMP VIEW tensor_stack AS FROM once_tensor_stack;
