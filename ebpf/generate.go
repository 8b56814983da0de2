package ebpf

// The object and Go's view of its structures are generated from c/ and committed, so that users need no clang; CI
// generates them again and compares.
//
//go:generate go tool bpf2go -go-package ebpf -target bpfel -cc clang -cflags "-O2 -g -Wall -Wextra -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu" -type crossing -type port_class -type credit -type port -type switch_state -type route -type flow -type tick -type verdict -type reason -type want -type port_kind -type burst_state -type ecn_mode -type tcd_state pipelines c/kernel.c

// The programs that the benchmark compares with.
//
//go:generate go tool bpf2go -go-package ebpf -target bpfel -cc clang -cflags "-O2 -g -Wall -Wextra -Werror -mcpu=v3 -I/usr/include/x86_64-linux-gnu" bare c/bare.c

// The same pipelines for WebAssembly.
//
//go:generate clang --target=wasm32 -O3 -nostdlib -ffreestanding -Wall -Wextra -Werror -Wno-int-to-pointer-cast -Wno-pointer-to-int-cast -mbulk-memory -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=8192 -o pipelines.wasm c/wasm.c
//go:generate chmod 644 pipelines.wasm
