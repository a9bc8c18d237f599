#pragma once
// The properties of the front end that hold for any text.

#include <string>

/// Compiles a text, kernels that can be compiled for themselves included; ends the process where something is wrong.
void check_frontend(const std::string& text);
