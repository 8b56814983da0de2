package wasm

import _ "embed"

// Object is the WebAssembly module of the pipelines, compiled from the same source as the kernel's. Package translated
// is generated from it; at run time only the reference machine needs it.
//
//go:embed pipelines.wasm
var Object []byte
