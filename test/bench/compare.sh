#!/usr/bin/env bash
# Go benchmarks beside others, by benchstat. Nothing here passes or fails: benchstat says what differs by more than chance.
#   compare.sh             beside test/bench/baseline.txt: of another machine, so what counts is allocations and proportions
#   compare.sh REVISION    beside that commit's on this machine, in turns: the one to believe
#   compare.sh --record    writes test/bench/baseline.txt anew
# COUNT (6) is how often each runs, TIME (200ms) how long.
set -euo pipefail
cd "$(dirname "$0")/../.."
count=${COUNT:-6} time=${TIME:-200ms}
out=$(mktemp -d)
trap 'git worktree remove --force "$out/base" >/dev/null 2>&1 || true; rm -rf "$out"' EXIT

# once FOLDER: every benchmark below it, once.
once() {
	(
		cd "$1"
		mapfile -t packages < <(grep -rl --include='*_test.go' '^func Benchmark' . | xargs -n 1 dirname | sort -u)
		go test -run '^$' -bench . -benchtime "$time" "${packages[@]}"
	)
}

case ${1-} in
--record)
	{
		echo "# $(go version | cut -d ' ' -f 3-), $(nproc) processors, load $(cut -d ' ' -f 1 /proc/loadavg)"
		for ((i = 0; i < count; i++)); do once .; done
	} | grep -E '^(#|goos|goarch|pkg|cpu|Benchmark)' >"$out/new.txt"
	mv "$out/new.txt" test/bench/baseline.txt
	;;
'')
	for ((i = 0; i < count; i++)); do once .; done >"$out/new.txt"
	go tool benchstat baseline=test/bench/baseline.txt now="$out/new.txt"
	;;
*)
	git worktree add --quiet --detach "$out/base" "$1"
	for ((i = 0; i < count; i++)); do
		once "$out/base" >>"$out/base.txt"
		once . >>"$out/new.txt"
	done
	go tool benchstat "$1=$out/base.txt" now="$out/new.txt"
	;;
esac
