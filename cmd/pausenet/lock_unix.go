//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks f for this process, or says that another has.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
