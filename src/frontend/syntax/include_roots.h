#pragma once
// The folders that imports and %include may read, where they are given: a source from an untrusted
// author must not bring files from elsewhere into messages and bundles.

#include <span>
#include <string>

#include "frontend/syntax/parse.h"

namespace tessera {

/// Why the file of a path is not read where only sources in `roots` and the folders below are; empty where it may be,
/// and where there are no roots. What counts is where links lead to. A file that is missing inside may be read: its
/// text may come from elsewhere. Whether a path outside exists is not reported.
std::string refuse_outside(const std::string& path, std::span<const std::string> roots);

/// Reads a file that may be read; what is read is what was looked at.
bool read_inside(const std::string& path, std::span<const std::string> roots, std::string& text, std::string& error);

/// Reads a file for an import or %include.
bool read_included(const ParseOptions& options, const std::string& path, std::string& text, std::string& error);

}  // namespace tessera
