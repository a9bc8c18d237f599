#include "frontend/format/document.h"

#include <algorithm>

#include "support/render/columns.h"

namespace tessera::formatter {

namespace {

/// The width of what a text adds to the line it begins on.
uint32_t first_line_width(std::string_view text) {
  return uint32_t(columns_of(text.substr(0, text.find('\n'))));
}

uint32_t sum(uint32_t a, uint32_t b) {
  return std::min(a + b, unfit);
}

/// Puts a part behind what the lead of a node has so far.
void extend_lead(Node& node, const Node& part) {
  if (node.lead_ends) return;
  node.lead = sum(node.lead, part.lead);
  node.lead_ends = part.lead_ends;
}

void measure_bracket(Node& node) {
  auto width = uint32_t(columns_of(node.open) + columns_of(node.close));
  bool forced = node.keeps_rows || !node.behind_open.empty() || !node.below.empty();
  for (const Part* part : node.parts) {
    if (part != node.parts.front()) width = sum(width, node.commas ? 2 : 1);
    width = sum(width, part->node->flat);
    forced |= part->has_comment();
  }
  if (node.last_comma) width = sum(width, 1);
  node.flat = forced ? unfit : width;
  node.lead = node.parts.empty() ? width : uint32_t(columns_of(node.open));
  node.lead_ends = !node.parts.empty();
}

void measure_chain(Node& node) {
  bool forced = false;
  for (const Part* part : node.parts) {
    if (part != node.parts.front()) node.flat = sum(node.flat, 1);
    node.flat = sum(node.flat, part->node->flat);
    forced |= part->has_comment();
    if (part != node.parts.front() && !node.rigid) node.lead_ends = true;
    if (part != node.parts.front() && node.rigid && !node.lead_ends) node.lead = sum(node.lead, 1);
    extend_lead(node, *part->node);
  }
  if (forced && !node.rigid) node.flat = unfit;
}

}  // namespace

const Node* Document::text(std::string_view text) {
  Node node;
  node.text = text;
  node.flat = node.lead = first_line_width(text);
  nodes_.push_back(std::move(node));
  return &nodes_.back();
}

Part* Document::part(const Node* node) {
  parts_.emplace_back();
  parts_.back().node = node;
  return &parts_.back();
}

const Node* Document::concat(std::vector<const Node*> nodes, size_t main) {
  Node node;
  node.kind = NodeKind::Concat;
  node.main = main;
  for (const Node* each : nodes) {
    node.parts.push_back(part(each));
    node.flat = sum(node.flat, each->flat);
    extend_lead(node, *each);
  }
  nodes_.push_back(std::move(node));
  return &nodes_.back();
}

const Node* Document::add(Node node) {
  node.kind == NodeKind::Bracket ? measure_bracket(node) : measure_chain(node);
  nodes_.push_back(std::move(node));
  return &nodes_.back();
}

}  // namespace tessera::formatter
