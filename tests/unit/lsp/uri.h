#pragma once

#include <string>

/// The document that most tests open.
inline const std::string uri = "file:///work-space/model.tsr";
