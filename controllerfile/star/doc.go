// Package star reads controllers that are written in Starlark, and runs them by go.starlark.net.
//
// The language is Starlark with while, and without features that controllers do not need, so that memory is bounded
// like steps are (see dialect). Numbers are floats, lists are short, and there are neither texts nor dictionaries at
// run time. Its documentation for users is docs/controllers-from-files.md.
//
// Read parses a program once. Bind compiles it for the constants of an Env, with parameters as literals. Each flow then
// calls it. Bound programs are frozen: flows share code and constants, which do not change. A flow has its own thread,
// so flows of different hosts may be called at the same time.
//
// # Rounding
//
// Starlark's floats are IEEE 754 doubles. The interpreter computes one operation at a time and boxes its result, so no
// compiler can fuse a product and a sum. Results are equal on all processors, and equal to those of Go code that rounds
// each product (see package cc).
//
// Files:
//
//   - star.go: reading, binding and calling.
//   - declare.go: declarations of a file; dialect.go: checks and rewrites programs.
//   - habits.go, outer.go: what to write instead of Python; warnings.go: likely mistakes; loops.go: where steps run
//     out.
//   - values.go: flows, samples and hops; list.go: lists and their limits; builtins.go: functions.
package star
