#!/bin/sh
# Compiles the pipelines of c/: eBPF objects with the Go that loads them, WebAssembly with its translation to Go, and Go's view of their
# structures. All of it is committed, so that users need no clang; CI compiles again and compares. It needs clang 14, llvm, lld and libbpf-dev.
set -eu
cd "$(dirname "$0")"

# bpf compiles a C file to an object, and writes the Go beside it. The kernel's asm headers are where the machine's distribution has
# them, by its architecture's name.
bpf() {
	go tool bpf2go -target bpfel -cc clang \
		-cflags "-O2 -g -Wall -Wextra -Werror -mcpu=v3 -I/usr/include/$(clang -print-multiarch)" "$@"
}

bpf -go-package kernel -output-dir kernel -no-global-types pipelines c/kernel.c
# The programs that the benchmark compares with.
bpf -go-package kernel -output-dir kernel bare c/bare.c
go tool gofumpt -w kernel/*_bpfel.go

# The structures and constants alone, without what loads the object: package ebpf is data.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
types=
for t in pass port_class detector credit port port_extra profile switch_state host route flow flowlet trigger verdict reason want port_kind burst_state shared_by \
	path_choice hash_field ecn_mode tcd_state frame_mark ifindex; do
	types="$types -type $t"
done
# shellcheck disable=SC2086
bpf -go-package ebpf -output-dir "$scratch" $types pipelines c/kernel.c >/dev/null
sed -e '/^\/\/ Names of all BPF objects/,$d' -e '/^import ($/,/^)$/c import "structs"' "$scratch/pipelines_bpfel.go" >"$scratch/types.go"
gofmt "$scratch/types.go" >types_bpfel.go

clang --target=wasm32 -O3 -nostdlib -ffreestanding -Wall -Wextra -Werror -Wno-int-to-pointer-cast -Wno-pointer-to-int-cast \
	-mbulk-memory -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=8192 -o wasm/pipelines.wasm c/wasm.c
chmod 644 wasm/pipelines.wasm
go tool wasm2go -unsafe -pkg translated -o wasm/translated/pipelines.go wasm/pipelines.wasm
go tool gofumpt -w wasm/translated/pipelines.go
