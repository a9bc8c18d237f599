#include "runtime/tsr/numbered.h"

#include <algorithm>
#include <map>

namespace tessera::tool {

namespace {

/// A name cut at its first number between dots; without one it is all `before`.
struct CutName {
  std::string before;
  std::string digits;
  std::string after;
};

CutName cut(const std::string& name) {
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1)) {
    size_t end = name.find_first_not_of("0123456789", dot + 1);
    bool is_number = end != std::string::npos && name[end] == '.' && end > dot + 1 && end < dot + 10;
    if (is_number) return {name.substr(0, dot + 1), name.substr(dot + 1, end - dot - 1), name.substr(end)};
  }
  return {name, "", ""};
}

/// The text with another name for its own.
std::string renamed(const Named& item, const std::string& name) {
  std::string text = item.text;
  for (size_t at = 0; (at = text.find(item.name, at)) != std::string::npos; at += name.size()) {
    text.replace(at, item.name.size(), name);
  }
  return text;
}

}  // namespace

std::vector<std::string> fold_numbered(const std::vector<Named>& items) {
  std::map<std::string, std::vector<long>> numbers;
  auto form_of = [](const Named& item, const CutName& name) { return renamed(item, name.before + "#" + name.after); };
  for (const Named& item : items) {
    CutName name = cut(item.name);
    if (!name.digits.empty()) numbers[form_of(item, name)].push_back(std::stol(name.digits));
  }
  std::vector<std::string> folded;
  for (const Named& item : items) {
    CutName name = cut(item.name);
    if (name.digits.empty()) {
      folded.push_back(item.text);
      continue;
    }
    std::vector<long> all = numbers[form_of(item, name)];
    bool is_first = all.front() == std::stol(name.digits);
    std::sort(all.begin(), all.end());
    if (all.size() < 2 || all.back() - all.front() != long(all.size()) - 1) {
      folded.push_back(item.text);
    } else if (is_first) {
      std::string range = "{" + std::to_string(all.front()) + "-" + std::to_string(all.back()) + "}";
      folded.push_back(renamed(item, name.before + range + name.after));
    }
  }
  return folded;
}

}  // namespace tessera::tool
