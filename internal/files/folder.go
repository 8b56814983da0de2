package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder represents an open folder for writing files. It remains the folder that was opened, whatever its name refers
// to later, and it writes only new files: never into something that another user has put under a file's name, such as a
// link or a pipe. It is safe for concurrent use.
type Folder struct {
	root *os.Root
	path string
}

// OpenFolder creates the folder at path, with its parents, and opens it. within is the part of path that the user
// named. There it follows links, unless the last one belongs to another user; below, it follows no link that leads
// out of it.
func OpenFolder(within, path string) (*Folder, error) {
	below, err := filepath.Rel(within, path)
	if err != nil || !filepath.IsLocal(below) {
		return nil, &Error{path, "is not below " + within}
	}
	if err := trusted(within); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(within, 0o755); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(within)
	if err != nil {
		return nil, err
	}
	f := &Folder{root, within}
	if below == "." {
		return f, nil
	}
	defer root.Close()
	return f.Sub(filepath.ToSlash(below))
}

// Sub creates the folder of a name, or of several separated by /, and opens it.
func (f *Folder) Sub(name string) (*Folder, error) {
	name = filepath.FromSlash(name)
	if err := f.root.MkdirAll(name, 0o755); err != nil {
		return nil, f.named(err)
	}
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, f.named(err)
	}
	return &Folder{root, filepath.Join(f.path, name)}, nil
}

// Path returns the user's name of the folder.
func (f *Folder) Path() string { return f.path }

// Close closes the folder. Files that it created stay open.
func (f *Folder) Close() error { return f.root.Close() }

// Create creates a new file for writing and reading. It first removes a file of that name.
func (f *Folder) Create(name string) (*os.File, error) {
	const attempts = 8 // in case someone recreates the name repeatedly
	for i := 0; ; i++ {
		file, err := f.exclusive(name)
		if err == nil || !errors.Is(err, fs.ErrExist) || i == attempts {
			return file, f.named(err)
		}
		if err := f.Remove(name); err != nil {
			return nil, err
		}
	}
}

// exclusive creates a file, unless the name exists.
func (f *Folder) exclusive(name string) (*os.File, error) {
	return f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
}

// Write replaces a file atomically: no reader ever sees a part of it, even after a power failure. If it fails, the
// old file remains.
func (f *Folder) Write(name string, data []byte) error {
	file, err := f.Replace(name, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	return file.Close()
}

// beforeRename runs after a file is written and before it is renamed. Tests end the process there.
var beforeRename = func() {}

// Remove removes the named files, or anything else of these names except folders that are not empty. Missing names
// are not an error.
func (f *Folder) Remove(names ...string) error {
	var errs []error
	for _, name := range names {
		if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, f.named(err))
		}
	}
	return errors.Join(errs...)
}

// RemoveAny removes the files that picks selects by name.
func (f *Folder) RemoveAny(picks func(name string) bool) error {
	entries, err := fs.ReadDir(f.root.FS(), ".")
	if err != nil {
		return f.named(err)
	}
	var names []string
	for _, e := range entries {
		if picks(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return f.Remove(names...)
}

// Tidy removes unfinished files of these names that a killed process left. Nobody may be writing into the folder.
func (f *Folder) Tidy(names ...string) error {
	return f.RemoveAny(func(name string) bool {
		of, ok := Unfinished(name)
		return ok && slices.Contains(names, of)
	})
}

// Unfinished returns the final name of a file that a killed process was writing; ok is false if the name is not that
// of such a file. It works for files whose names do not end in a digit.
func Unfinished(name string) (of string, ok bool) {
	visible, hidden := strings.CutPrefix(name, ".")
	of = strings.TrimRight(visible, "0123456789")
	return of, hidden && of != "" && of != visible
}

// named makes the paths in an error relative to the user's name of the folder.
func (f *Folder) named(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	if out := f.leadsOut(path.Path); out != "" {
		return &Error{out, "is a link that leads out of " + f.path}
	}
	return &fs.PathError{Op: strings.TrimSuffix(path.Op, "at"), Path: f.whole(path.Path), Err: path.Err}
}

// writing returns the error of a file that was to be written whole: of that file, whatever its name was until then.
func (f *Folder) writing(name string, err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return &fs.PathError{Op: "write", Path: f.whole(name), Err: err}
}

func (f *Folder) whole(name string) string {
	if filepath.IsLocal(name) && !strings.HasPrefix(name, f.path+string(filepath.Separator)) {
		return filepath.Join(f.path, name)
	}
	return name
}

// leadsOut returns the first link on the way to a name that leads out of the folder; empty: none does.
func (f *Folder) leadsOut(name string) string {
	parts := strings.Split(filepath.Clean(name), string(filepath.Separator))
	for i := range parts {
		part := filepath.Join(parts[:i+1]...)
		info, err := f.root.Lstat(part)
		if err != nil {
			return ""
		}
		if _, err := f.root.Stat(part); info.Mode()&fs.ModeSymlink != 0 && err != nil && !errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(f.path, part)
		}
	}
	return ""
}
