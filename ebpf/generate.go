package ebpf

// The object and Go's view of its structures are generated from c/ and committed, so that users need no clang; CI
// generates them again and compares. The kernel's asm headers are where the machine's distribution has them, by its
// architecture's name.
//
//go:generate sh -c "go tool bpf2go -go-package ebpf -target bpfel -cc clang -cflags \"-O2 -g -Wall -Wextra -Werror -mcpu=v3 -I/usr/include/$(clang -print-multiarch)\" -type crossing -type port_class -type credit -type port -type profile -type switch_state -type route -type flow -type tick -type verdict -type reason -type want -type port_kind -type burst_state -type shared_by -type path_hash -type ecn_mode -type tcd_state -type frame_mark pipelines c/kernel.c"

// The programs that the benchmark compares with.
//
//go:generate sh -c "go tool bpf2go -go-package ebpf -target bpfel -cc clang -cflags \"-O2 -g -Wall -Wextra -Werror -mcpu=v3 -I/usr/include/$(clang -print-multiarch)\" bare c/bare.c"

// The same pipelines for WebAssembly.
//
//go:generate clang --target=wasm32 -O3 -nostdlib -ffreestanding -Wall -Wextra -Werror -Wno-int-to-pointer-cast -Wno-pointer-to-int-cast -mbulk-memory -Wl,--no-entry -Wl,--strip-all -Wl,-z,stack-size=8192 -o pipelines.wasm c/wasm.c
//go:generate chmod 644 pipelines.wasm
