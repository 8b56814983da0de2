package wasm

import _ "embed"

// Object holds the pipelines as a WebAssembly module, compiled from the same source as the kernel's programs. Package
// translated is generated from it. At run time package reference runs it, and package digest hashes it.
//
//go:embed pipelines.wasm
var Object []byte
