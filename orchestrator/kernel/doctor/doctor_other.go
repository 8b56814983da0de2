//go:build !linux

package doctor

import "runtime"

// Diagnose finds out whether this machine can run the kernel plane.
func Diagnose() *Diagnosis {
	return &Diagnosis{Kernel: runtime.GOOS, Checks: []Check{{
		Name: "kernel", Status: CheckMissing, Found: "this is " + runtime.GOOS + ": the kernel plane needs Linux",
		Remedy: "--plane wasm runs the same pipelines in this process, with the same results",
	}}}
}
