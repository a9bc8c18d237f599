" Vim syntax file of Tessera. Made by tools/gen_editors.py of tessera.vim.in and the compiler's tables; edit those.
if exists("b:current_syntax")
  finish
endif

syn keyword tesseraStatement as elif else for if pass return while with
syn keyword tesseraInclude from import
syn keyword tesseraOperatorWord and in is not or
syn keyword tesseraConstant False None True INF NAN cpu gpu
syn keyword tesseraDType bf16 bfloat16 bool double f16 f32 f64 f8e4m3 f8e5m2 float float16 float32 float64 fp16 fp32 fp64 fp8 fp8_e4m3 fp8_e5m2 fp8e4m3 fp8e5m2 half i16 i32 i4 i64 i8 int int16 int32 int4 int64 int8 tf32 u16 u32 u64 u8 uint16 uint32 uint64 uint8
syn keyword tesseraType KTile KVCache Mesh OptimizerState Param Region Schedule Tensor Tile Tuple any dim dtype fn str tuple Region
syn keyword tesseraFunction Schedule abs accum adds_in_any_order arange block broadcast_to cast cast_like ceil ceildiv checkpoint checkpoint_name concat cos cross_entropy device dict dropout_in_kernel einsum embedding enumerate erf erfinv exp exp2 expm1 flash_attention floor fma full gelu grad identity is_known is_number is_tuple jvp len log log1p log2 logical_and logical_not logical_or logical_xor map matmul max maximum mean mesh min minimum normal ones ops pow prefetch print prod range reciprocal reduce relu remat reshape rmsnorm rmsnorm_safe round rsqrt scan select sigmoid sign silu sin softmax softmax_safe sqrt sum tanh tessera tile transpose tree_leaves tree_map trunc uniform update value_and_grad vjp vmap windows zeros zip
syn keyword tesseraLambda lambda

" Names that act as keywords where they begin a statement.
syn match tesseraDeclarator "\v^\s*\zs(const|dim|param|module|on)\ze\s+[A-Za-z_"']"
syn match tesseraDef "\<def\>" nextgroup=tesseraName skipwhite
syn match tesseraName "\h\w*" contained
syn match tesseraTile "\v(<tile\.)@5<=\h\w*"
syn match tesseraFunction "\v<where>\ze\s*\("
syn match tesseraWhere "\v([])}A-Za-z0-9_"']\s+)@20<=where>\ze\s+[^=]"

syn match tesseraDecorator "\v^\s*\zs\@\s*\h\w*(\.\h\w*)*"
syn match tesseraPolicy "\v\@\s*(accum|checkpointable|device|fp32_master|loss_scale|paged|rolling_window|saturate|stochastic_round)>"
syn match tesseraEffects "!{[^}]*}"

syn match tesseraNumber "\v<0[xX][0-9A-Fa-f_]+>|<0[bB][01_]+>"
syn match tesseraNumber "\v<[0-9][0-9_]*>"
syn match tesseraFloat "\v<[0-9][0-9_]*\.[0-9_]*([eE][+-]?[0-9_]+)?"
syn match tesseraFloat "\v<[0-9][0-9_]*[eE][+-]?[0-9_]+"
syn match tesseraFloat "\v[A-Za-z0-9_)\]]@1<!\.[0-9][0-9_]*([eE][+-]?[0-9_]+)?"

syn match tesseraEscape "\v\\([ntr0\\'"]|x\x\x|u\x{4}|U\x{8}|$)" contained
syn region tesseraString start=+"+ skip=+\\.+ end=+"\|$+ contains=tesseraEscape
syn region tesseraString start=+'+ skip=+\\.+ end=+'\|$+ contains=tesseraEscape
syn region tesseraString start=+"""+ skip=+\\.+ end=+"""+ contains=tesseraEscape
syn region tesseraString start=+'''+ skip=+\\.+ end=+'''+ contains=tesseraEscape

syn keyword tesseraTodo TODO FIXME NOTE contained
syn match tesseraComment "#.*$" contains=tesseraTodo,@Spell
syn match tesseraPreProc "\v^\s*\zs\%(define|elif|else|endif|error|if|include)>"

syn sync minlines=200

hi def link tesseraStatement Statement
hi def link tesseraInclude Include
hi def link tesseraOperatorWord Operator
hi def link tesseraConstant Constant
hi def link tesseraDType Type
hi def link tesseraType Type
hi def link tesseraFunction Function
hi def link tesseraTile Function
hi def link tesseraLambda Keyword
hi def link tesseraDeclarator Keyword
hi def link tesseraWhere Keyword
hi def link tesseraDef Keyword
hi def link tesseraName Function
hi def link tesseraDecorator PreProc
hi def link tesseraPolicy StorageClass
hi def link tesseraEffects StorageClass
hi def link tesseraNumber Number
hi def link tesseraFloat Float
hi def link tesseraEscape SpecialChar
hi def link tesseraString String
hi def link tesseraTodo Todo
hi def link tesseraComment Comment
hi def link tesseraPreProc PreProc

let b:current_syntax = "tessera"
