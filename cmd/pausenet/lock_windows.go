package main

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// lockFolder locks a folder for this process until the file is closed: by a file in it, which stays, as a folder cannot be
// locked here and a lock that is removed can be taken twice.
func lockFolder(folder string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(folder, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped)); err != nil {
		f.Close()
		return nil, errLocked
	}
	return f, nil
}
