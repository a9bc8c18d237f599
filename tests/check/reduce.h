#pragma once
// Makes a program that fails smaller, by removing what it fails without (Zeller and Hildebrandt, 2002).

#include <functional>

#include "check/program.h"

namespace tessera::check {

/// The smallest program found for which `fails` still holds; at most `tries` are tried.
Program reduced(const Program& program, const std::function<bool(const Program&)>& fails, int tries);

}  // namespace tessera::check
