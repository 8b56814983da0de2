//go:build !linux

package machine

import (
	"os"
	"runtime"
	"time"
)

// Release returns the operating system.
func Release() string { return runtime.GOOS }

var processStart = time.Now()

// ProcessorTime stands in the wall clock: this system's processor time is not read.
func ProcessorTime() int64 { return int64(time.Since(processStart)) }

// PeakResidentOf returns 0: it is not known.
func PeakResidentOf(*os.ProcessState) int64 { return 0 }

// Load returns 0: it is not known.
func Load() float64 { return 0 }

// AvailableMemory returns 0: it is not known.
func AvailableMemory() int64 { return 0 }
