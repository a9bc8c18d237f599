#include "tools/command_line/values.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "support/diagnostic.h"

namespace tessera::command_line {

namespace {

/// Bytes of a unit, which is in small letters.
std::optional<double> unit_bytes(std::string_view unit) {
  if (unit.empty() || unit == "b") return 1;
  constexpr std::string_view scales = "kmgt";
  size_t power = scales.find(unit[0]);
  if (power == scales.npos) return std::nullopt;
  std::string_view rest = unit.substr(1);
  if (rest != "b" && rest != "ib") return std::nullopt;
  return std::pow(rest == "b" ? 1000.0 : 1024.0, double(power + 1));
}

}  // namespace

std::optional<uint64_t> read_byte_size(std::string_view text) {
  size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  double number = 0;
  auto [end, status] = std::from_chars(text.data(), text.data() + digits, number, std::chars_format::fixed);
  if (status != std::errc() || end != text.data() + digits) return std::nullopt;
  std::string unit(text.substr(std::min(text.find_first_not_of(' ', digits), text.size())));
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  std::optional<double> scale = unit_bytes(unit);
  if (!scale || number * *scale < 1 || number * *scale >= 0x1p64) return std::nullopt;
  uint64_t bytes = 0;  // exact where it is a whole number of bytes, which a double may not be
  bool is_whole = *scale == 1 && std::from_chars(text.data(), text.data() + digits, bytes).ptr == end;
  return is_whole ? bytes : uint64_t(number * *scale);
}

void take_byte_size(CLI::Option& option) {
  CLI::Validator validator(
      [](std::string& text) {
        std::optional<uint64_t> bytes = read_byte_size(text);
        if (!bytes) {
          return fmt::format(
              "'{}' is not a size: it takes a number of bytes above 0, or one with kB, MB or GB, which count in 1000, "
              "or KiB, MiB or GiB, which count in 1024",
              text);
        }
        text = std::to_string(*bytes);
        return std::string();
      },
      "");
  option.transform(validator)->type_name("SIZE");
}

void take_count(CLI::Option& option, uint64_t least, uint64_t most) {
  option.check([least, most](const std::string& text) {
    uint64_t count = 0;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), count);
    bool is_number = status == std::errc() && end == text.data() + text.size();
    bool is_count = is_number && count >= least && count <= most;
    return is_count ? std::string() : fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
  });
}

void take_number(CLI::Option& option, double least, double most) {
  option.check([least, most](const std::string& text) {
    double number = 0;
    auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    bool is_whole = status == std::errc() && end == text.data() + text.size();
    bool fits = is_whole && number >= least && number <= most;  // no NaN does
    return fits ? std::string() : fmt::format("'{}' is not a number from {} to {}", text, least, most);
  });
}

void take_one_of(CLI::Option& option, std::vector<std::string> words) {
  std::string shown = "{" + CLI::detail::join(words, ",") + "}";  // as the parser's own check has it: --help reads it
  auto refuse = [words = std::move(words)](const std::string& text) {
    if (std::ranges::find(words, text) != words.end()) return std::string();
    return fmt::format("'{}' is none of {}{}", text, listed(words), suggestion(text, words));
  };
  option.check(CLI::Validator(refuse, shown));
}

void take_folder(CLI::Option& option) {
  option.type_name("DIR")->check([](const std::string& path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) return std::string();
    return fmt::format("'{}' is not {} folder", path, std::filesystem::exists(path, error) ? "a" : "an existing");
  });
}

void take_existing(CLI::Option& option, std::string_view kind) {
  option.check([kind = std::string(kind)](const std::string& path) {
    std::error_code error;
    bool is_there = std::filesystem::exists(path, error);
    return is_there ? std::string() : fmt::format("'{}' is not an existing {}", path, kind);
  });
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  std::string nearest = nearest_name(word, candidates);
  return nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
}

std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace tessera::command_line
