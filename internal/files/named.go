package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WriteWhole does the work of Folder.Write for a file that the user named. It replaces a link, and refuses an existing
// name that is not a file, such as a device. If the name is standard output, or another descriptor open at the
// program's start, it writes the data there.
func WriteWhole(path string, data []byte) error {
	if isOutput(path) {
		f, err := openStream(path)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return errors.Join(err, f.Close())
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return notRegular(path, info.Mode())
	}
	return inFolderOf(path, func(f *Folder, name string) error { return f.Write(name, data) })
}

// Create creates the file that the user named, for output as it is produced. It replaces an existing file or link,
// but not a link's target. It writes into a descriptor that the program was started with (/dev/stdout, a shell's
// >(command)), a device or a named pipe, unless the pipe, or the link to it, belongs to another user.
func Create(path string) (*os.File, error) {
	if isOutput(path) {
		return openStream(path)
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return openSpecial(path, info)
	}
	var file *os.File
	err := inFolderOf(path, func(f *Folder, name string) (err error) {
		file, err = f.Create(name)
		return err
	})
	return file, err
}

// inFolderOf calls a function to write a file in the folder that a path leads to.
func inFolderOf(path string, write func(f *Folder, name string) error) error {
	folder := filepath.Dir(path)
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	f := &Folder{root, folder}
	return errors.Join(write(f, filepath.Base(path)), f.Close())
}

// isOutput reports whether a name refers to a descriptor open at the program's start. The name is a link in /dev, which
// must stay one.
func isOutput(name string) bool {
	name = filepath.ToSlash(filepath.Clean(name))
	return name == "/dev/stdout" || name == "/dev/stderr" || strings.HasPrefix(name, "/dev/fd/") ||
		strings.HasPrefix(name, "/proc/self/fd/")
}

// openStream opens a descriptor that the program was started with, to append.
func openStream(path string) (*os.File, error) { return os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) }

// openSpecial opens something other than a file for writing. It opens a pipe in both directions, as its reader may
// come later.
func openSpecial(path string, info fs.FileInfo) (*os.File, error) {
	if info.Mode()&(fs.ModeDir|fs.ModeSocket) != 0 {
		return nil, notRegular(path, info.Mode())
	}
	if err := trusted(path); err != nil {
		return nil, err
	}
	if err := ownedBy(path, info); info.Mode()&fs.ModeNamedPipe != 0 && err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|noWait, 0)
}

// trusted returns an error for another user's link at an output path: root would write wherever it leads.
func trusted(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return nil
	}
	return ownedBy(path, info)
}

// ownedBy returns an error if a path belongs to another user.
func ownedBy(path string, info fs.FileInfo) error {
	if owner, known := ownerOf(info); known && !slices.Contains(trustedOwners(), owner) {
		what := "named pipe"
		if info.Mode()&fs.ModeSymlink != 0 {
			what = "link"
		}
		return &Error{path, fmt.Sprintf("is a %s that belongs to user %s", what, userName(owner))}
	}
	return nil
}
