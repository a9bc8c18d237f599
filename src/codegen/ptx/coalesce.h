#pragma once
// Which words share a register.

#include "codegen/ptx/code.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::codegen::ptx {

/// Gives each word a register number, dense within its class. Copies between words of one register are dropped from
/// the code.
std::vector<uint32_t> coalesce(Code& code);

/// 32-bit registers for the words that live where some block begins: a lower bound for any order of
/// instructions.
int64_t live_registers(const Code& code);

/// Reports every copy that touches an accumulator while an MMA may be writing it: the assembler
/// would then run all MMAs one by one.
Status check_accumulators(const Code& code, const std::vector<uint32_t>& registers, DiagnosticEngine& diagnostics);

}  // namespace tessera::codegen::ptx
