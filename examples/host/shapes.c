/* Compiles a source and says what is known of its shapes: shapes FILE.tsr [NAME=SIZE...]
 *
 * Sizes that are given must fulfil the program's conditions; the exit status is 1 when they do not, or
 * when the source has errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera_frontend.h>

static char* read_file(const char* path, size_t* length) {
  FILE* file = fopen(path, "rb");
  char* text = NULL;
  size_t room = 0;
  *length = 0;
  while (file && !ferror(file) && !feof(file)) {
    if (*length + 4096 > room) {
      char* more = realloc(text, room = room * 2 + 8192);
      if (!more) break;
      text = more;
    }
    *length += fread(text + *length, 1, room - *length, file);
  }
  if (!file || !feof(file)) {
    free(text);
    text = NULL;
  }
  if (file) fclose(file);
  return text;
}

static void print_findings(const tessera_report* report) {
  static const char* const severities[] = {"note", "warning", "error"};
  tessera_finding finding;
  size_t i;
  for (i = 0; tessera_report_finding(report, i, &finding); ++i) {
    printf("%s: %s [%s]\n", severities[finding.severity], finding.message, finding.kind);
  }
}

int main(int argc, char** argv) {
  tessera_dim dims[16];
  tessera_shape_policy policy = {sizeof policy, TESSERA_GUARD_ALL, 1, 0, NULL, 0};
  tessera_source source = {NULL, NULL, 0};
  tessera_module_ir* ir;
  tessera_report* report;
  char* text;
  int i, ok = 0;
  if (argc < 2 || argc > 17) {
    fprintf(stderr, "usage: shapes FILE.tsr [NAME=SIZE...]\n");
    return 1;
  }
  for (i = 2; i < argc; ++i) {
    char* equals = strchr(argv[i], '=');
    if (!equals) {
      fprintf(stderr, "'%s' is not NAME=SIZE\n", argv[i]);
      return 1;
    }
    *equals = '\0';
    dims[policy.dim_count].name = argv[i];
    dims[policy.dim_count++].value = strtoll(equals + 1, NULL, 10);
  }
  policy.dims = dims;
  text = read_file(argv[1], &source.length);
  if (!text) {
    fprintf(stderr, "%s cannot be read\n", argv[1]);
    return 1;
  }
  source.name = argv[1];
  source.text = text;
  ir = tessera_frontend_compile(&source, NULL);
  report = tessera_validate_shapes(ir, &policy);
  if (ir) fputs(tessera_module_ir_rendered(ir), stderr);
  if (ir && report && tessera_module_ir_ok(ir)) {
    print_findings(report);
    printf("%zu conditions and %zu sizes are left for calls\n", tessera_report_guard_count(report),
           tessera_report_open_dim_count(report));
    ok = tessera_report_ok(report);
  }
  tessera_report_free(report);
  tessera_module_ir_free(ir);
  free(text);
  return ok ? 0 : 1;
}
