package files

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Dir returns the files of a folder, each read as Read reads it: a named pipe or a device among them keeps nobody
// waiting.
func Dir(folder string, kind Kind) fs.FS { return dir{folder, kind} }

type dir struct {
	folder string
	kind   Kind
}

// at calls do with the path of a file, whose name has / between its parts.
func at[T any](d dir, op, name string, do func(path string) (T, error)) (none T, err error) {
	if !fs.ValidPath(name) {
		return none, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return do(filepath.Join(d.folder, filepath.FromSlash(name)))
}

// Open implements fs.FS.
func (d dir) Open(name string) (fs.File, error) {
	return at(d, "open", name, func(path string) (fs.File, error) { return Open(path, d.kind) })
}

// ReadFile implements fs.ReadFileFS.
func (d dir) ReadFile(name string) ([]byte, error) {
	return at(d, "read", name, func(path string) ([]byte, error) { return Read(path, d.kind) })
}

// Stat implements fs.StatFS.
func (d dir) Stat(name string) (fs.FileInfo, error) { return at(d, "stat", name, os.Stat) }

// NoLink returns an error if a name on the way from a folder to a path below it, the path's own included, is a link: a
// folder that somebody else made may lead anywhere by it. Names that do not exist are no links.
func NoLink(folder, path string) error {
	for at := filepath.Clean(path); at != filepath.Clean(folder); at = filepath.Dir(at) {
		if at == filepath.Dir(at) {
			return &Error{path, "is not below " + folder}
		}
		if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return &Error{at, "is a link"}
		}
	}
	return nil
}

// ReadDir implements fs.ReadDirFS.
func (d dir) ReadDir(name string) ([]fs.DirEntry, error) { return at(d, "readdir", name, os.ReadDir) }
