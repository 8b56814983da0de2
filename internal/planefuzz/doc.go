// Package planefuzz compares the planes on random small scenarios: the same scenario, controller and seed must give the
// same run on the kernel plane and on the wasm plane, to the last register. All of it is tests (package
// planefuzz_test):
//
//	TestTranslation  the wasm plane against wazero running the WebAssembly that it is translated from: no root needed
//	TestPlanes       a property test over a few cases, with rapid's shrinking
//	TestFuzz         many cases, with a summary of what they covered and a file for each failure (make fuzz-planes)
//	TestMixtures     scenarios that mix today's features, on the wasm plane by one and by two processors; -planefuzz.mixtures=N for more
//	TestReplay       files on which the planes differed, or one file again:
//	                 go test ./internal/planefuzz -run TestReplay -v -planefuzz.case=FILE (a path from this folder, or absolute)
package planefuzz
