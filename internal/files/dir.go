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

// path returns where a file is; its name has / between its parts.
func (d dir) path(op, name string) (string, error) {
	if !fs.ValidPath(name) {
		return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return filepath.Join(d.folder, filepath.FromSlash(name)), nil
}

// Open implements fs.FS.
func (d dir) Open(name string) (fs.File, error) {
	path, err := d.path("open", name)
	if err != nil {
		return nil, err
	}
	return Open(path, d.kind)
}

// ReadFile implements fs.ReadFileFS.
func (d dir) ReadFile(name string) ([]byte, error) {
	path, err := d.path("read", name)
	if err != nil {
		return nil, err
	}
	return Read(path, d.kind)
}

// Stat implements fs.StatFS.
func (d dir) Stat(name string) (fs.FileInfo, error) {
	path, err := d.path("stat", name)
	if err != nil {
		return nil, err
	}
	return os.Stat(path)
}

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
func (d dir) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := d.path("readdir", name)
	if err != nil {
		return nil, err
	}
	return os.ReadDir(path)
}
