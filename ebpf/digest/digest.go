// Package digest tells the compiled pipelines of one program from those of another.
package digest

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/pausenet/pausenet/ebpf/wasm"
)

// Pipelines are the SHA-256 of the compiled pipelines, as hexadecimal digits.
type Pipelines struct {
	Wasm string `json:"wasm"` // of ebpf/wasm/pipelines.wasm, of which the wasm plane's Go code is made
	// of ebpf/kernel/pipelines_bpfel.o, which the kernel plane loads; empty where there is none
	Kernel string `json:"kernel,omitempty"`
}

// Of returns the hashes of this program's pipelines.
func Of() Pipelines { return Pipelines{hash(wasm.Object), kernelHash()} }

func hash(object []byte) string {
	sum := sha256.Sum256(object)
	return hex.EncodeToString(sum[:])
}
