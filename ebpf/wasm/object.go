package wasm

import _ "embed"

// Object holds the pipelines as a WebAssembly module, compiled from the same source as the kernel's. Package translated
// is generated from it; at run time only the reference machine needs it.
//
//go:embed pipelines.wasm
var Object []byte
