package command

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// limitMemory bounds the memory that this process may have for itself. What Go only reserves does not count.
func limitMemory(bytes uint64) error {
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		return fmt.Errorf("limit the memory of a hand-in's process: %w", err)
	}
	return nil
}
