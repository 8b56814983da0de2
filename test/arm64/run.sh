#!/usr/bin/env bash
# Usage: test/arm64/run.sh AMD64-PROGRAM ARM64-PROGRAM
# Runs built-ins with both programs, the second under qemu-user, and compares fingerprints and CSV files byte for byte.
set -euo pipefail
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

runs=0 files=0
compare() {
	echo "pausenet run $*"
	"$amd64" run "$@" --quick --processors 1 --out "$out/amd64" >/dev/null 2>&1
	qemu-aarch64 "$arm64" run "$@" --quick --processors 1 --out "$out/arm64" >/dev/null 2>&1
}
amd64=$(realpath "$1") arm64=$(realpath "$2")

compare incast --cc all
compare trim-incast
compare link-failure
compare qp-scaling
compare rails

while read -r file; do
	if [[ $file == */summary.json ]]; then
		runs=$((runs + 1))
		for machine in amd64 arm64; do
			grep '"fingerprint"' "$out/$machine/$file" >"$out/$machine.fingerprint"
		done
		cmp "$out/amd64.fingerprint" "$out/arm64.fingerprint" || { echo "$file: another fingerprint on arm64"; exit 1; }
	else
		files=$((files + 1))
		cmp "$out/amd64/$file" "$out/arm64/$file"
	fi
done < <(cd "$out/amd64" && find . -name summary.json -o -name '*.csv' | sort)
[ "$runs" -ge 20 ]
echo "$runs runs: equal fingerprints, and $files equal CSV files"
