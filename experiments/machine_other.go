//go:build !linux

package experiments

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"
)

// kernelRelease is the operating system.
func kernelRelease() string { return runtime.GOOS }

// peakResident is the memory that Go has taken from the system, in bytes.
func peakResident() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.Sys)
}

var processStart = time.Now()

// processorTime stands in the wall clock: this system's processor time is not read.
func processorTime() int64 { return int64(time.Since(processStart)) }

func benchKernel(_ context.Context, w io.Writer, _ int) error {
	fmt.Fprintf(w, "\nkernel plane: not measured, it needs Linux\n")
	return nil
}
