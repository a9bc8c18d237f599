#pragma once
// What must hold of the front end for any text at all.

#include <string>

/// Compiles a text, kernels that can be compiled for themselves included; ends the process where something is wrong.
void check_frontend(const std::string& text);
