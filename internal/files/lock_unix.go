//go:build unix

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Lock represents a lock of a folder for this process. It locks a file in the folder that no other user can open,
// because anyone who can read a folder could lock the folder itself.
type Lock struct {
	folder *Folder
	file   *os.File
}

// Lock locks the folder for this process, until it ends or calls Release. The error is a LockedError if another
// process holds the lock.
func (f *Folder) Lock() (*Lock, error) {
	const attempts = 64 // each but the last finds that the holder has just released the lock
	for range attempts {
		file, err := f.openLock()
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
			defer file.Close()
			if errors.Is(err, unix.EWOULDBLOCK) {
				return nil, f.lockedBy(file)
			}
			return nil, &fs.PathError{Op: "lock", Path: f.whole(LockName), Err: err}
		}
		if f.isLock(file) {
			// The owner's name helps those who wait; a disk that is full is no reason not to begin.
			if file.Truncate(0) == nil {
				_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
			}
			return &Lock{f, file}, nil
		}
		file.Close() // it has been removed
	}
	return nil, &LockedError{Path: f.path}
}

// openLock creates and opens the lock file. It removes anything of that name that is not a file.
func (f *Folder) openLock() (*os.File, error) {
	info, err := f.root.Lstat(LockName)
	if err == nil && !info.Mode().IsRegular() {
		if err := f.Remove(LockName); err != nil {
			return nil, err
		}
	}
	file, err := f.root.OpenFile(LockName, os.O_RDWR|os.O_CREATE|noWait|noLink, 0o600)
	if errors.Is(err, fs.ErrPermission) && info != nil {
		if owner, known := ownerOf(info); known && owner != os.Geteuid() {
			return nil, &LockedError{Path: f.path, User: userName(owner)}
		}
	}
	return file, f.named(err)
}

// isLock reports whether a locked file is still the folder's lock file.
func (f *Folder) isLock(file *os.File) bool {
	own, err := file.Stat()
	if err != nil || !own.Mode().IsRegular() {
		return false
	}
	there, err := f.root.Lstat(LockName)
	return err == nil && os.SameFile(own, there)
}

// lockedBy returns who has the lock on a file.
func (f *Folder) lockedBy(file *os.File) error {
	e := &LockedError{Path: f.path}
	var text [16]byte
	n, _ := file.ReadAt(text[:], 0)
	e.Process, _ = strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if info, err := file.Stat(); err == nil {
		if owner, known := ownerOf(info); known && owner != os.Geteuid() {
			e.User = userName(owner)
		}
	}
	return e
}

// Release releases the lock and removes its file.
func (l *Lock) Release() error {
	err := l.folder.Remove(LockName)
	if cerr := l.file.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("unlock: %w", cerr))
	}
	return err
}
