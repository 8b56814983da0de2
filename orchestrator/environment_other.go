//go:build !linux

package orchestrator

import (
	"errors"
	"runtime"
)

// Diagnose finds out whether this machine can run the kernel plane.
func Diagnose() *Diagnosis {
	return &Diagnosis{Kernel: runtime.GOOS, Checks: []Check{{
		Name: "kernel", Status: CheckMissing, Found: "this is " + runtime.GOOS + ": the kernel plane is Linux's",
		Remedy: "--plane wasm runs the same pipelines in this process, with the same results",
	}}}
}

// FindLeftovers finds nothing: no fabric was ever built in this kernel.
func FindLeftovers() ([]Leftover, error) { return nil, nil }

// Remove ends what holds the namespace.
func (l *Leftover) Remove() error { return errors.New("this system has no network namespaces") }

// remedyFor knows nothing: no fabric is brought up in this kernel.
func remedyFor(error) string { return "" }
