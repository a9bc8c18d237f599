#include "frontend/file_check.h"

#include "frontend/kernel_check.h"
#include "frontend/entry_builder.h"
#include "frontend/names_check.h"
#include "frontend/uncalled_check.h"

namespace tessera::frontend {

struct FileCheck::State {
  State(tessera::Context& context, DiagnosticEngine& diagnostics, SessionOptions options,
        const std::string& kernels_for)
      : session(context, diagnostics, std::move(options)),
        kernels(session),
        graph(context, session.sources(), "checked", Level::Graph),
        builder(session, graph, kernels),
        called(session, kernels, kernels_for),
        uncalled(session, kernels, kernels_for) {}

  Session session;
  SourceKernels kernels;
  Module graph;
  GraphBuilder builder;
  KernelCheck called;
  UncalledCheck uncalled;
  SourceModule* file = nullptr;
  std::unique_ptr<EntryBuilder> entries;
};

FileCheck::FileCheck(tessera::Context& context, ParsedFiles& files, const FrontendOptions& options,
                     DiagnosticEngine& diagnostics) {
  SessionOptions session = session_options(options);
  session.files = &files;
  state_ = std::make_unique<State>(context, diagnostics, std::move(session), options.kernels_for);
}

FileCheck::~FileCheck() = default;

void FileCheck::load(FileId file) {
  Session& session = state_->session;
  if (session.observer()) session.observer()->started(session);
  state_->file = session.load_file(file);
  state_->entries = std::make_unique<EntryBuilder>(state_->builder, *state_->file);
  state_->entries->evaluate_constants();
}

size_t FileCheck::declaration_count() const { return state_->file->unit.declarations.size(); }

const ast::Stmt& FileCheck::declaration(size_t index) const {
  return *state_->file->unit.declarations[index].stmt;
}

void FileCheck::check(size_t index) {
  const ast::Stmt& stmt = declaration(index);
  Op* last = state_->graph.body()->back();
  state_->entries->build(stmt);
  state_->called.build_own(*state_->file, stmt);
  state_->called.build_called(last ? last->next() : state_->graph.body()->front());
}

Block* FileCheck::entries() const { return state_->graph.body(); }

void FileCheck::check_uncalled(size_t index, const std::function<bool(const ast::Def&)>& was_run) {
  Budget::Apart apart(state_->session.budget());
  state_->uncalled.check(*state_->file, declaration(index), was_run);
}

bool FileCheck::is_spent() const { return state_->session.budget().is_spent(); }

void FileCheck::finish() {
  state_->builder.finish_entries();
  state_->builder.build_initialisers();
}

void FileCheck::check_names() { frontend::check_names(state_->session, *state_->file); }

}  // namespace tessera::frontend
