;;; tessera-words.el --- Words of Tessera  -*- lexical-binding: t -*-
;; Made by tools/gen_editors.py of tessera-words.el.in and the compiler's tables; edit those.

(defconst tessera-words-keywords
  '("as" "elif" "else" "for" "if" "pass" "return" "while" "with" "from" "import" "and" "in" "is" "not" "or" "def" "lambda"))
(defconst tessera-words-constants '("False" "None" "True" "INF" "NAN" "cpu" "gpu"))
(defconst tessera-words-dtypes '("bf16" "bfloat16" "bool" "double" "f16" "f32" "f64" "f8e4m3" "f8e5m2" "float" "float16" "float32" "float64" "fp16" "fp32" "fp64" "fp8" "fp8_e4m3" "fp8_e5m2" "fp8e4m3" "fp8e5m2" "half" "i16" "i32" "i4" "i64" "i8" "int" "int16" "int32" "int4" "int64" "int8" "tf32" "u16" "u32" "u64" "u8" "uint16" "uint32" "uint64" "uint8"))
(defconst tessera-words-types '("KTile" "KVCache" "Mesh" "OptimizerState" "Param" "Region" "Schedule" "Tensor" "Tile" "Tuple" "any" "dim" "dtype" "fn" "str" "tuple" "Region"))
(defconst tessera-words-builtins '("Schedule" "abs" "accum" "adds_in_any_order" "arange" "block" "broadcast_to" "cast" "cast_like" "ceil" "ceildiv" "checkpoint" "checkpoint_name" "concat" "cos" "cross_entropy" "device" "dict" "dropout_in_kernel" "einsum" "embedding" "enumerate" "erf" "erfinv" "exp" "exp2" "expm1" "flash_attention" "floor" "fma" "full" "gelu" "grad" "identity" "is_known" "is_number" "is_tuple" "jvp" "len" "log" "log1p" "log2" "logical_and" "logical_not" "logical_or" "logical_xor" "map" "matmul" "max" "maximum" "mean" "mesh" "min" "minimum" "normal" "ones" "ops" "pow" "prefetch" "print" "prod" "range" "reciprocal" "reduce" "relu" "remat" "reshape" "rmsnorm" "rmsnorm_safe" "round" "rsqrt" "scan" "select" "sigmoid" "sign" "silu" "sin" "softmax" "softmax_safe" "sqrt" "sum" "tanh" "tessera" "tile" "transpose" "tree_leaves" "tree_map" "trunc" "uniform" "update" "value_and_grad" "vjp" "vmap" "windows" "zeros" "zip"))
(defconst tessera-words-policies '("accum" "checkpointable" "device" "fp32_master" "loss_scale" "paged" "rolling_window" "saturate" "stochastic_round"))
(defconst tessera-words-directives '("define" "elif" "else" "endif" "error" "if" "include"))

(provide 'tessera-words)
;;; tessera-words.el ends here
