//go:build linux

package image

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// CacheError reports that the cache cannot be used. The image itself may be correct.
type CacheError struct{ Err error }

func (e *CacheError) Error() string { return fmt.Sprintf("store unpacked images: %v", e.Err) }

func (e *CacheError) Unwrap() error { return e.Err }

// unfinished prefixes the names of cache folders that are being made or removed.
const unfinished = "unfinished-"

// where returns the path of the cache: below $XDG_CACHE_HOME, or ~/.cache.
func where() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = "/var/cache"
	}
	return filepath.Join(base, "pausenet", "images")
}

// cacheFolder creates the folder of the cache if needed, with access only for the user, and returns its path.
func cacheFolder() (string, error) {
	folder := where()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", &CacheError{err}
	}
	return folder, nil
}

// scratch returns a file without a name on the cache's file system.
func scratch() (*os.File, error) {
	folder, err := cacheFolder()
	if err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(folder, unfinished)
	if err == nil {
		err = os.Remove(file.Name())
	}
	if err != nil {
		return nil, &CacheError{err}
	}
	return file, nil
}

// cached returns the folder of an image. If there is none it makes one, which fill fills. The folder stays as long as
// the lock is open.
func cached(id string, fill func(folder string) error) (folder string, lock *os.File, err error) {
	cache, err := cacheFolder()
	if err != nil {
		return "", nil, err
	}
	sweep(cache)
	folder = filepath.Join(cache, id)
	if lock, err = take(folder); lock != nil || err != nil {
		return folder, lock, err
	}
	making := filepath.Join(cache, unfinished+rand.Text())
	for lock == nil && err == nil { // another may sweep it away before it is locked
		if err = os.Mkdir(making, 0o700); err == nil {
			lock, err = take(making)
		}
	}
	if err != nil {
		return "", nil, &CacheError{err}
	}
	err = fill(making)
	if err == nil {
		err = os.Chmod(making, 0o755) // it becomes the root folder
	}
	if err == nil {
		err = os.Rename(making, folder)
	}
	if err == nil {
		return folder, lock, nil
	}
	lock.Close()
	_ = os.RemoveAll(making)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, unix.ENOTEMPTY) { // another process was faster
		return cached(id, fill)
	}
	if full(err) {
		err = &CacheError{err}
	}
	return "", nil, err
}

// take opens and locks a folder of the cache, so that it stays; nil if there is none.
func take(folder string) (*os.File, error) {
	for {
		file, err := os.Open(folder)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err == nil {
			err = unix.Flock(int(file.Fd()), unix.LOCK_SH)
		}
		if err != nil {
			return nil, &CacheError{err}
		}
		same, err := isAt(file, folder)
		if same {
			return file, nil
		}
		file.Close() // it was removed meanwhile
		if err != nil {
			return nil, &CacheError{err}
		}
	}
}

// isAt reports whether an open file is the file at a path.
func isAt(file *os.File, path string) (bool, error) {
	own, err := file.Stat()
	if err != nil {
		return false, err
	}
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(own, now), err
}

// full reports whether an error means that a file system has no room left.
func full(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EROFS)
}

// Remove removes a folder of the cache, unless somebody uses it.
func Remove(folder string) error {
	file, err := os.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	if same, err := isAt(file, folder); !same { // another was made in its place, and that one may be in use
		return err
	}
	unused := filepath.Join(filepath.Dir(folder), unfinished+rand.Text())
	if err := os.Rename(folder, unused); err != nil {
		return err
	}
	return os.RemoveAll(unused)
}

// sweep removes the unfinished folders of processes that were killed.
func sweep(cache string) {
	entries, _ := os.ReadDir(cache)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), unfinished) && e.IsDir() {
			_ = Remove(filepath.Join(cache, e.Name())) // the next one tries again
		}
	}
}

// Left returns the cache's unused folders.
func Left() (folders []string) {
	cache := where()
	entries, _ := os.ReadDir(cache)
	for _, e := range entries {
		folder := filepath.Join(cache, e.Name())
		file, err := os.Open(folder)
		if err != nil {
			continue
		}
		if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			folders = append(folders, folder)
		}
		file.Close()
	}
	return folders
}
