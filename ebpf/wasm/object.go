package wasm

import _ "embed"

// Object is the same pipelines as the kernel's, compiled for WebAssembly from the same source. Package translated is
// made of it; at run time only the reference machine needs it.
//
//go:embed pipelines.wasm
var Object []byte
