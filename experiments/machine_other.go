//go:build !linux

package experiments

import "runtime"

// kernelRelease is the operating system.
func kernelRelease() string { return runtime.GOOS }
