/* libtessera_frontend: compiles Tessera source to its graph of whole tensors and says what is known of
 * its shapes. C99, C++ compatible; tessera_frontend.hpp wraps it for C++.
 *
 * What is wrong with a source is data, and nothing is printed. So is a bug of the library that it finds
 * itself: a module with the diagnostic "internal-error", or a report with such a finding (before 1.2 it
 * ended the process). One that it does not find, a bad access to memory or a stack that is too small,
 * ends the process: a program that has to outlive that compiles in a child. Handles are freed by their
 * own functions, which take NULL. Strings belong to the handle that gave them and are UTF-8, ended by a
 * zero byte. Different handles may be used from different threads at once, one handle from several
 * threads only to read. docs/embedding.md has an example.
 */
#ifndef TESSERA_FRONTEND_H
#define TESSERA_FRONTEND_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define TESSERA_API
#else
#define TESSERA_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A program runs with a library of the same major and no smaller minor
 * number. */
#define TESSERA_FRONTEND_MAJOR 1
#define TESSERA_FRONTEND_MINOR 3
TESSERA_API void tessera_frontend_version(uint32_t* major, uint32_t* minor);

/* A graph with what was said about its source. */
typedef struct tessera_module_ir tessera_module_ir;
/* What is known of a graph's shapes. */
typedef struct tessera_report tessera_report;

/* A place: line and column count from 1, column and length in bytes. Line 0 means unknown. */
typedef struct {
  const char* file;
  uint32_t line;
  uint32_t column;
  uint32_t length;
} tessera_place;

typedef enum { TESSERA_NOTE = 0, TESSERA_WARNING = 1, TESSERA_ERROR = 2 } tessera_severity;

/* ---- Source to graph ---- */

typedef struct {
  const char* name; /* as messages call it, also the place from which imports are looked for */
  const char* text;
  size_t length; /* of the text in bytes */
} tessera_source;

/* Gives the text of an import or include: 1 with `text` and `length` set, which stay as they are until
 * the next call or the end of the compilation, or 0 with a reason in `text`. */
typedef int (*tessera_read_function)(void* user, const char* path, const char** text, size_t* length);

/* Fields that are 0 stand for their defaults; an options object begins as {sizeof(…), 0, …}. A program
 * that was compiled with an older header gives a smaller size: the fields it does not know are 0. */
typedef struct {
  size_t size;                      /* sizeof(tessera_frontend_options) */
  const char* const* include_paths; /* folders for imports and includes after the file's own */
  size_t include_path_count;
  const char* const* defines; /* NAME or NAME=VALUE, for %if; NAME is of letters, digits and _ */
  size_t define_count;
  tessera_read_function read; /* NULL: from disk */
  void* user;                 /* passed to `read` */
  const char* kernels_for;    /* a target such as "cpu:x86-64-v4": kernels are checked for it, too */
  size_t error_limit;         /* errors that are kept; 0: all */
  /* Since 1.3: */
  const char* const* include_roots; /* imports and includes read only files '.tsr' in and below these folders */
  size_t include_root_count;        /* 0: any file */
  size_t max_eval_memory;           /* bytes of a compile-time evaluation, a tenth for the compiler; 0: 1,000,000,000 */
  size_t max_eval_steps;            /* steps that it may take; 0: 4,000,000 */
} tessera_frontend_options;

/* Compiles a source. `options` may be NULL. The result is NULL only when memory ran out, an argument
 * breaks the rules above, or a bug of the library prevents the report of another one. */
TESSERA_API tessera_module_ir* tessera_frontend_compile(const tessera_source* source,
                                                        const tessera_frontend_options* options);
/* Reads a graph from its text, as `tesserac --dump=graph` prints it. */
TESSERA_API tessera_module_ir* tessera_frontend_read(const tessera_source* ir);
TESSERA_API void tessera_module_ir_free(tessera_module_ir* ir);

/* 1 when there is a graph: the source has no errors. */
TESSERA_API int tessera_module_ir_ok(const tessera_module_ir* ir);
/* The graph as text, which tessera_frontend_read and tesserac read back; "" when there is none. */
TESSERA_API const char* tessera_module_ir_text(const tessera_module_ir* ir);
/* The functions with @jit, and the kernels that are compiled for themselves. */
TESSERA_API size_t tessera_module_ir_entry_count(const tessera_module_ir* ir);
TESSERA_API const char* tessera_module_ir_entry(const tessera_module_ir* ir, size_t index);

/* What was said about the source, in the order of the places. */
typedef struct {
  tessera_severity severity;
  const char* tag; /* such as "shape-mismatch"; `tesserac --explain` knows it */
  const char* message;
  tessera_place place;
  size_t note_count; /* places that have to do with it */
  size_t help_count; /* what would mend it */
} tessera_diagnostic;

TESSERA_API size_t tessera_module_ir_diagnostic_count(const tessera_module_ir* ir);
/* 0 when there are not so many. */
TESSERA_API int tessera_module_ir_diagnostic(const tessera_module_ir* ir, size_t index,
                                             tessera_diagnostic* diagnostic);
TESSERA_API int tessera_module_ir_note(const tessera_module_ir* ir, size_t diagnostic, size_t index,
                                       const char** message, tessera_place* place);
TESSERA_API const char* tessera_module_ir_help(const tessera_module_ir* ir, size_t diagnostic,
                                               size_t index);
/* Changes of the source that mend it, each made of texts for places; since 1.1. The last two give 0
 * when there are not so many. */
TESSERA_API size_t tessera_module_ir_fix_count(const tessera_module_ir* ir, size_t diagnostic);
TESSERA_API int tessera_module_ir_fix(const tessera_module_ir* ir, size_t diagnostic, size_t index,
                                      const char** message, size_t* edit_count);
TESSERA_API int tessera_module_ir_edit(const tessera_module_ir* ir, size_t diagnostic, size_t fix,
                                       size_t index, tessera_place* place, const char** text);
/* All of it as tesserac shows it, without colours. */
TESSERA_API const char* tessera_module_ir_rendered(const tessera_module_ir* ir);

/* ---- Shapes ---- */

/* Conditions that a call may be left to check, to be added. */
#define TESSERA_GUARD_SIGNATURE 1u    /* two extents of arguments are one size */
#define TESSERA_GUARD_EQUALITY 2u     /* where A == B, where A != B */
#define TESSERA_GUARD_ORDER 4u        /* where S <= 4096 */
#define TESSERA_GUARD_DIVISIBILITY 8u /* where D % 64 == 0 */
#define TESSERA_GUARD_ALL 15u

typedef struct {
  const char* name;
  int64_t value;
} tessera_dim;

/* What a graph may leave open. */
typedef struct {
  size_t size;              /* sizeof(tessera_shape_policy) */
  uint32_t run_time_guards; /* TESSERA_GUARD_… and no other bits; others have to hold for the sizes below */
  int symbolic_dims;        /* 0: every size has to be given below */
  int strict;               /* 1: what holds for some sizes only is an error */
  const tessera_dim* dims;  /* sizes that are known, none below 0 */
  size_t dim_count;
} tessera_shape_policy;

/* Looks at the shapes of a graph. Without a policy (NULL) every guard may stay for run time, sizes may
 * be open, and nothing is strict. NULL when memory ran out or an argument breaks the rules above; the
 * report on a source with errors has each of them as a finding. */
TESSERA_API tessera_report* tessera_validate_shapes(const tessera_module_ir* ir,
                                                    const tessera_shape_policy* policy);
TESSERA_API void tessera_report_free(tessera_report* report);

/* 1 when no finding is an error. */
TESSERA_API int tessera_report_ok(const tessera_report* report);
/* How many conditions calls check, and how many sizes they bring. */
TESSERA_API size_t tessera_report_guard_count(const tessera_report* report);
TESSERA_API size_t tessera_report_open_dim_count(const tessera_report* report);

typedef struct {
  tessera_severity severity;
  /* "malformed", "guard", "false-guard", "open-dim", "negative-dim", "inexact-dim", "overflow",
   * "unknown-dim" or, since 1.2, "internal-error" */
  const char* kind;
  const char* entry;   /* "" for what is of no entry */
  const char* subject; /* the size or the condition: "D", "D % 64 == 0" */
  const char* message;
  tessera_place place;
} tessera_finding;

TESSERA_API size_t tessera_report_finding_count(const tessera_report* report);
/* 0 when there are not so many. */
TESSERA_API int tessera_report_finding(const tessera_report* report, size_t index,
                                       tessera_finding* finding);

#ifdef __cplusplus
}
#endif

#endif
