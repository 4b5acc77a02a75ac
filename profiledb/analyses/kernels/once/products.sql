-- What the names of kernels tell of products and of FP64, made once for all rules about them: names are few.
CREATE OR REPLACE TEMP TABLE once_product_name AS FROM product_name;
CREATE OR REPLACE TEMP VIEW product_name AS FROM once_product_name;

CREATE OR REPLACE TEMP TABLE once_double_kernel AS FROM double_kernel;
CREATE OR REPLACE TEMP VIEW double_kernel AS FROM once_double_kernel;
