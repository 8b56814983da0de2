package command

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// limitMemory limits the private memory of this process. Memory that Go only reserves does not count.
func limitMemory(bytes uint64) error {
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		return fmt.Errorf("limit the memory of a submission's process: %w", err)
	}
	return nil
}
