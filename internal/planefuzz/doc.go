// Package planefuzz compares the planes on random small scenarios: the same scenario, controller and seed must give the
// same run on the kernel plane and on the wasm plane, to the last register. It consists of tests (package
// planefuzz_test):
//
//	TestTranslation  compares the wasm plane with wazero running its WebAssembly; needs no root
//	TestPlanes       tests a property over a few cases, with rapid's shrinking
//	TestFuzz         runs many cases; writes a summary of their coverage and a file for each failure (make fuzz-planes)
//	TestMixtures     mixes features, on the wasm plane with one and with two processors; -planefuzz.mixtures=N for more
//	TestReplay       repeats files on which the planes differed, or one file (a path from this folder, or absolute):
//	                 go test ./internal/planefuzz -run TestReplay -v -planefuzz.case=FILE
package planefuzz
