#include "hostile/mutate.h"

#include <cstring>
#include <vector>

#include "runtime/files/text.h"

namespace tessera::hostile {

using format::cat;

int64_t odd_number(Random& random) {
  static constexpr int64_t known[] = {0,       1,          -1,        2,           3,         5,
                                      63,      64,         1000000,   INT32_MAX,   UINT32_MAX, int64_t(1) << 40,
                                      1 << 20, INT64_MAX,  INT64_MIN, INT64_MAX / 4, 4096};
  if (random.one_in(4)) return int64_t(random.next()) >> random.pick(64);
  return int64_t(uint64_t(random.of(known)) + random.pick(3) - 1);
}

void mutate_text(std::string& text, Random& random, std::string& change) {
  if (text.empty()) return;
  size_t at = random.pick(text.size());
  switch (random.pick(5)) {
    case 0: {  // a number
      size_t begin = text.find_first_of("0123456789", at);
      if (begin == text.npos) return;
      size_t end = std::min(text.find_first_not_of("0123456789", begin), text.size());
      std::string number = std::to_string(odd_number(random));
      change = cat("text: ", number, " at byte ", begin);
      text.replace(begin, end - begin, number);
      return;
    }
    case 1: {  // a line goes, or is there twice
      size_t begin = text.rfind('\n', at);
      begin = begin == text.npos ? 0 : begin + 1;
      size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      bool twice = random.one_in(2);
      change = cat("text: the line at byte ", begin, twice ? " twice" : " goes");
      if (twice) {
        text.insert(begin, text.substr(begin, end - begin));
      } else {
        text.erase(begin, end - begin);
      }
      return;
    }
    case 2:
      change = cat("text: a byte at ", at);
      text[at] = char(random.pick(256));
      return;
    case 3:
      change = cat("text: it ends at byte ", at);
      text.resize(at);
      return;
    default: {  // a piece of the text elsewhere
      std::string piece = text.substr(random.pick(text.size()), 1 + random.pick(24));
      change = cat("text: ", piece.size(), " bytes of it at ", at);
      text.insert(at, piece);
    }
  }
}

void mutate_bytes(std::string& bytes, Random& random, std::string& change) {
  if (bytes.empty()) return;
  size_t part = random.one_in(2) ? std::min<size_t>(bytes.size(), 512) : bytes.size();
  size_t at = random.pick(part);
  change = cat("bytes: at ", at);
  switch (random.pick(5)) {
    case 0:
      bytes[at] = char(random.pick(256));
      return;
    case 1: {
      int64_t number = odd_number(random);
      size_t width = size_t(1) << random.pick(4);
      std::memcpy(&bytes[at], &number, std::min(width, bytes.size() - at));
      return;
    }
    case 2:
      bytes.resize(at);
      return;
    case 3:
      bytes.erase(at, 1 + random.pick(64));
      return;
    default:
      bytes.insert(at, std::string(1 + random.pick(64), char(random.pick(256))));
  }
}

namespace {

bool is_text(const std::string& name) {
  return name.ends_with(".tir") || name.ends_with(".json");
}

/// Decodes, changes and encodes; bytes that are no plan are changed as bytes.
void mutate_plan_bytes(std::string& bytes, Random& random, std::string& change) {
  auto plan = format::decode_plan(bytes);
  if (!plan || random.one_in(12)) return mutate_bytes(bytes, random, change);
  mutate_plan(*plan, random, change);
  bytes = format::encode_plan(*plan);
}

void mutate_reflection(std::string& text, Random& random, std::string& change) {
  auto reflection = format::read_reflection(text);
  if (!reflection || random.one_in(10)) return mutate_text(text, random, change);
  std::vector<format::KernelMeta*> kernels;
  for (auto& [target, list] : reflection->kernels) {
    for (format::KernelMeta& kernel : list) kernels.push_back(&kernel);
  }
  if (kernels.empty()) return mutate_text(text, random, change);
  mutate_kernel(*kernels[random.pick(kernels.size())], random, change);
  text = format::write_reflection(*reflection);
}

void mutate_entry(const std::string& name, std::string& bytes, Random& random, std::string& change) {
  if (name.ends_with(".plan")) {
    mutate_plan_bytes(bytes, random, change);
  } else if (name == format::reflection_name) {
    mutate_reflection(bytes, random, change);
  } else if (is_text(name)) {
    mutate_text(bytes, random, change);
  } else {
    mutate_bytes(bytes, random, change);
  }
  change = cat(name, ": ", change);
}

/// An entry goes, comes, or takes the content of another.
void mutate_entries(Contents& contents, Random& random, std::string& change) {
  auto pick = [&] { return std::next(contents.entries.begin(), long(random.pick(contents.entries.size()))); };
  if (contents.entries.empty()) return;
  auto entry = pick();
  change = cat("the entry ", entry->first, " goes or changes");
  switch (random.pick(3)) {
    case 0:
      contents.entries.erase(entry);
      return;
    case 1:
      entry->second = pick()->second;
      return;
    default:
      contents.entries[cat("weights/", random.pick(3), ".safetensors")] = entry->second;
  }
}

void mutate_once(Contents& contents, Random& random) {
  std::string change;
  std::vector<std::string> plans;
  for (const auto& [name, bytes] : contents.entries) {
    if (name.ends_with(".plan")) plans.push_back(name);
  }
  size_t choice = random.pick(20);
  if (choice < 10 && !plans.empty()) {
    const std::string& name = plans[random.pick(plans.size())];
    mutate_entry(name, contents.entries[name], random, change);
  } else if (choice < 13 && contents.entries.count(std::string(format::reflection_name))) {
    mutate_reflection(contents.entries[std::string(format::reflection_name)], random, change);
    change = cat("reflection.json: ", change);
  } else if (choice < 15) {
    mutate_manifest(contents.manifest, random, change);
    change = cat("manifest.json: ", change);
  } else if (choice < 16) {
    mutate_entries(contents, random, change);
  } else if (!contents.entries.empty()) {
    auto entry = std::next(contents.entries.begin(), long(random.pick(contents.entries.size())));
    mutate_entry(entry->first, entry->second, random, change);
  }
  contents.changes += cat(contents.changes.empty() ? "" : "; ", change);
}

}  // namespace

std::string mutate(Contents contents, Random& random, std::string& changes) {
  size_t count = 1 + (random.one_in(3) ? random.pick(4) : 0);
  for (size_t i = 0; i < count; ++i) mutate_once(contents, random);
  changes = contents.changes;
  format::BundleWriter writer;
  for (auto& [name, bytes] : contents.entries) {
    if (!writer.add(name, std::move(bytes))) return {};
  }
  auto bundle = writer.finish(std::move(contents.manifest));
  return bundle ? std::move(*bundle) : std::string();
}

}  // namespace tessera::hostile
