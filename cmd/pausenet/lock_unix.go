//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFolder locks a folder for this process until the file is closed. The folder itself carries the lock: nothing is left
// behind that would have to be removed.
func lockFolder(folder string) (*os.File, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if err == unix.EWOULDBLOCK {
			return nil, errLocked
		}
		return nil, &os.PathError{Op: "lock", Path: folder, Err: err}
	}
	return f, nil
}
