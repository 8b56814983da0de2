package files

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// CheckPrivate returns an error if another user owns a file or folder of secrets, or may read it. Where modes do not
// say who may read a file, as on Windows, it checks nothing.
func CheckPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if filepath.Separator != '/' {
		return nil
	}
	return checkPrivate(path, info)
}

func checkPrivate(path string, info fs.FileInfo) error {
	if owner, known := ownerOf(info); known && !slices.Contains(trustedOwners(), owner) {
		return &Error{path, fmt.Sprintf("belongs to user %s: use your own copy", userName(owner))}
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return &Error{path, fmt.Sprintf("others may read it (%v): run chmod go= %s", mode, path)}
	}
	return nil
}
