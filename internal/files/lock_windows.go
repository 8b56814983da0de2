package files

import (
	"os"

	"golang.org/x/sys/windows"
)

// Lock represents a lock of a folder for this process.
type Lock struct{ file *os.File }

// Lock locks the folder for this process, until it ends or calls Release. The lock file remains, because Windows
// cannot remove an open file. The error is a LockedError if another process holds the lock.
func (f *Folder) Lock() (*Lock, error) {
	file, err := f.root.OpenFile(LockName, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, f.named(err)
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, new(windows.Overlapped)); err != nil {
		file.Close()
		return nil, &LockedError{Path: f.path}
	}
	return &Lock{file}, nil
}

// Release releases the lock.
func (l *Lock) Release() error { return l.file.Close() }
