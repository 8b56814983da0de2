package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folder is an open folder that files are written into. It stays the folder that was opened, whatever its name comes to
// stand for, and what it writes are new files: never what another has put under their names, such as a link to
// somebody's file or a pipe. Its methods may be called from several goroutines.
type Folder struct {
	root *os.Root
	path string
}

// OpenFolder makes the folder at path, with those above it, and opens it. within is the part of path that the user
// named: a link on the way to it is followed, but a last one that belongs to another user; below it, none is that leads
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

// Sub makes the folder of a name, or of several with / between them, and opens it.
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

// Close lets go of the folder. Files that it made stay open.
func (f *Folder) Close() error { return f.root.Close() }

// Create makes a new file, to be written and read. What had its name is removed first.
func (f *Folder) Create(name string) (*os.File, error) {
	const attempts = 8 // against one who puts something there again and again
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

// exclusive makes a file, if nothing has its name.
func (f *Folder) exclusive(name string) (*os.File, error) {
	return f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
}

// Write replaces a file by one with the given content, so that no reader ever sees half of it, not even after a power
// failure. When it fails, what was there is there still.
func (f *Folder) Write(name string, data []byte) error {
	file, err := f.Replace(name, data)
	if err != nil {
		return err
	}
	return file.Close()
}

// beforeRename is called once a file is written and has not got its name yet. Tests end the process there.
var beforeRename = func() {}

// Remove removes files of these names, or whatever has them but folders with something in them. Those that are not
// there are none.
func (f *Folder) Remove(names ...string) error {
	var errs []error
	for _, name := range names {
		if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, f.named(err))
		}
	}
	return errors.Join(errs...)
}

// RemoveAny removes the files of any names that a function picks.
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

// Tidy removes what files of these names were to be as a process that wrote them was killed. Nobody may be writing into
// the folder.
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

// named gives an error the names that the user knows: those of a root's are below it.
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
