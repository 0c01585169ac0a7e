#!/bin/sh
# Runs targets of the Makefile one after the other, each in a clone of its own, with an environment that is made there:
# `sh tests/lab/targets.sh [TARGET...]`. Without names all but `demo` and `test`, which are run apart. Hours.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
PATH=${PATH#"${VIRTUAL_ENV:-none}/bin:"}
for name in $(env | sed -nE 's/^(PYTHON[A-Z_]*|TIGHTROPE[A-Z_]*|VIRTUAL_ENV|MAKE[A-Z]*|MFLAGS)=.*/\1/p'); do unset "$name"; done
[ $# -gt 0 ] || set -- $(sed -n 's/^\.PHONY: //p' "$root/Makefile" | tr ' ' '\n' | grep -vxE 'demo|test|test-targets')
failed=
for target; do
    git clone --quiet --no-hardlinks "$root" "$place/clone"
    start=$(date +%s)
    timeout "${LIMIT:-3h}" make -C "$place/clone" "$target" >"$place/said" 2>&1 && verdict=passed || verdict=failed
    echo "$target: $verdict in $(($(date +%s) - start)) s"
    [ $verdict = passed ] || { failed="$failed $target"; tail -n 30 "$place/said"; }
    rm -rf "$place/clone"
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
