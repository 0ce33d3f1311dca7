#!/usr/bin/env bash
# Installs pipeproof and judges what a workflow names: annotations on stdout, the report with its
# diagrams in the summary of the job, SARIF and HTML where they are asked for.
# Whatever a workflow or a file says is an argument, never a command: everything comes in by the
# environment, and what goes to the log besides annotations goes there with commands switched off.
set -euo pipefail

refuse() { # refuse MESSAGE: ends the step as a mistake in its inputs does
  echo "::error title=pipeproof::$1"
  exit 2
}

lines() { # lines TEXT: puts the lines of a text that are not empty into `found`
  found=()
  local line
  while IFS= read -r line || [ -n "$line" ]; do
    line=${line%$'\r'}
    if [ -n "$line" ]; then found+=("$line"); fi
  done <<<"$1"
}

say() { # say FILE: shows a file in the log, where nothing in it is a command
  local token
  if [ -s "$1" ]; then
    token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    echo "::stop-commands::$token"
    cat "$1"
    echo
    echo "::$token::"
  fi
}

temp=$(mktemp -d "${RUNNER_TEMP:-/tmp}/pipeproof.XXXXXX")
log=$temp/log

install() { # install: a Python of its own, with the version that was asked for
  local what python
  case ${PIPEPROOF_ACTION_VERSION:-} in
    *[!0-9A-Za-z.+_-]*) refuse "the input 'version' is no version; write one as 0.6.0" ;;
    "") what=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd) ;;
    *) what="pipeproof==$PIPEPROOF_ACTION_VERSION" ;;
  esac
  python=$(command -v python3 || command -v python) || refuse "there is no Python; write python-version"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    refuse "Python 3.11 or later is needed; write python-version"
  "$python" -m venv "$temp/venv"
  bin=$temp/venv/bin
  if [ ! -d "$bin" ]; then bin=$temp/venv/Scripts; fi
  "$bin/python" -m pip install --quiet --disable-pip-version-check "$what" >"$log" 2>&1 || {
    say "$log"
    refuse "pipeproof could not be installed"
  }
}

judge() { # judge OPTION...: runs the check with these options beside those of the workflow
  "$bin/pipeproof" check ${args[@]+"${args[@]}"} "$@" -- "${paths[@]}"
}

report() { # report FORMAT FILE OUTPUT: writes a report, and says where it is
  judge --format "$1" -o "$2" >/dev/null 2>&1 || true
  if [ -s "$2" ] && [ -n "${GITHUB_OUTPUT:-}" ]; then echo "$3=$2" >>"$GITHUB_OUTPUT"; fi
}

summary() { # summary CODE: tells the result in the summary of the job
  if [ -z "${GITHUB_STEP_SUMMARY:-}" ]; then return; fi
  judge --format markdown -o "$temp/summary.md" >/dev/null 2>&1 || true
  if [ -s "$temp/summary.md" ]; then
    cat "$temp/summary.md" >>"$GITHUB_STEP_SUMMARY"
  else
    printf '## pipeproof: no verdict\n\nIt ended with exit code %s; the log says why.\n' "$1" \
      >>"$GITHUB_STEP_SUMMARY"
  fi
}

lines "${PIPEPROOF_ACTION_PATHS:-.}"
paths=(${found[@]+"${found[@]}"})
if [ "${#paths[@]}" -eq 0 ]; then paths=(.); fi
lines "${PIPEPROOF_ACTION_ARGS:-}"
args=(${found[@]+"${found[@]}"})
install

code=0
judge --format github 2>"$log" || code=$?
say "$log"
summary "$code"
if [ "${PIPEPROOF_ACTION_SARIF:-}" = true ]; then report sarif "$temp/pipeproof.sarif" sarif; fi
if [ -n "${PIPEPROOF_ACTION_HTML:-}" ]; then report html "$temp/pipeproof.html" html; fi
if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "exit-code=$code" >>"$GITHUB_OUTPUT"; fi
if [ "${PIPEPROOF_ACTION_FAIL:-true}" = true ]; then exit "$code"; fi
