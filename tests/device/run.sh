#!/usr/bin/env bash
# Runs all checks of this folder on cuda:0 and prints a table last; LIMIT is the time that each may take, in seconds.
# Exit status: 0 when all of them pass.
cd "$(dirname "$0")" || exit 1
python=${PYTHON:-python3}
limit=${LIMIT:-30}
summary=()
status=0

check() {  # NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  timeout "$limit" "$@" >"$name.log" 2>&1
  local code=$?
  case $name in
    memcheck* | synccheck* | racecheck*) grep -E "=====|WRONG|Error" "$name.log" | head -60 ;;
    *) head -400 "$name.log" ;;
  esac
  [ $code -eq 0 ] || status=1
  summary+=("$(printf '%-24s %-10s %4d s  %s' "$name" "$([ $code -eq 0 ] && echo ok || echo "failed $code")" \
    $((SECONDS - start)) "$(tail -1 "$name.log" | cut -c1-110)")")
}

control() {  # NAME COMMAND...: the command has to fail by the sanitizer's report
  local name=$1
  shift
  timeout "$limit" "$@" >"$name.log" 2>&1
  local code=$?
  [ $code -eq 9 ] || status=1
  summary+=("$(printf '%-24s %-10s  %s' "$name" "$([ $code -eq 9 ] && echo ok || echo "failed $code")" \
    "$(tail -1 "$name.log" | cut -c1-110)")")
}

check bad_input "$python" check_bad_input.py
check abi "$python" check_abi.py
check numbers "$python" check_numbers.py
check programs "$python" check_programs.py
check breadth "$python" check_programs.py --bundle breadth
check unordered "$python" check_programs.py --bundle unordered
check programs_sm_80 "$python" check_programs.py --bundle programs_sm_80 --runs 3
check programs_sm_89 "$python" check_programs.py --bundle programs_sm_89 --runs 3

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | head -1)
for tool in memcheck synccheck racecheck; do
  if [ -z "$sanitizer" ]; then
    summary+=("$tool: there is no compute-sanitizer")
    continue
  fi
  options=(--tool "$tool" --error-exitcode 9)
  [ $tool = memcheck ] && options+=(--leak-check no)
  [ $tool = racecheck ] && options+=(--racecheck-report all)
  check $tool "$sanitizer" "${options[@]}" "$python" check_programs.py --runs 1
  check ${tool}_breadth "$sanitizer" "${options[@]}" "$python" check_programs.py --runs 1 --bundle breadth
  check ${tool}_unordered "$sanitizer" "${options[@]}" "$python" check_programs.py --runs 1 --bundle unordered
  [ $tool = synccheck ] && continue
  control ${tool}_control "$sanitizer" "${options[@]}" "$python" check_controls.py "${tool%check}"
  check ${tool}_sm_80 "$sanitizer" "${options[@]}" "$python" check_programs.py --runs 1 --bundle programs_sm_80 \
    gemm gemm_transposed gemm_f32 batched_known softmax_rows norm_known
done

echo
printf '%s\n' "${summary[@]}"
exit $status
