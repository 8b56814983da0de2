// Package controllerfile makes congestion controllers of files that users write. Read reads a file and Check tests the
// controller by the rules of the NIC; New writes a template to start from. Importing package star registers Starlark,
// importing package wasm registers WebAssembly: a program reads only the languages that it imports.
//
// The languages share a program's declarations (Declaration), the calls of a flow (Flow), and the adapter to
// cc.Controller (Spec). A mistake in a file is an Error, with its position. If a call fails during a run, the
// adapter panics with the Error, because the NIC's calls of controllers return no errors. The engine's driver recovers
// from the panic and fails the run, and keeps the results so far (internal/blame).
//
// Files:
//
//   - Programs, whatever their language: program.go; telemetry.go (INT without its wraps), ownclock.go (times since a
//     flow's start).
//   - Files: read.go, check.go, template.go.
package controllerfile
