package files

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Read returns the content of a file. It refuses anything but a regular file, and a file that is larger than its kind
// may be. It never blocks, not even on a named pipe.
func Read(path string, kind Kind) ([]byte, error) {
	f, err := Open(path, kind)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return all(f, path, kind)
}

// OnlyBelow names the environment variable that restricts reading to the files below one folder; empty: no restriction.
// A program that runs commands for others sets it, because error messages quote the files they concern.
const OnlyBelow = "PAUSENET_FILES_BELOW"

// outside returns an error for an existing file outside of that folder. It follows symbolic links.
func outside(path string) error {
	folder := os.Getenv(OnlyBelow)
	if folder == "" {
		return nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	if real, err = filepath.Abs(real); err != nil {
		return err
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return err
	}
	if below, err := filepath.Rel(folder, real); err != nil || !filepath.IsLocal(below) {
		return &Error{path, "is outside of " + folder + ": only files below that may be read (copy it there)"}
	}
	return nil
}

// Open opens a file for reading, with the checks of Read. The file may still grow, so callers must limit how much they
// keep of it.
func Open(path string, kind Kind) (*os.File, error) {
	if err := outside(path); err != nil {
		return nil, err
	}
	flags := os.O_RDONLY | noWait
	if kind.Plain {
		flags |= noLink
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, notRegular(path, info.Mode())
		}
	}
	f, err := os.OpenFile(path, flags, 0)
	if err != nil {
		if info, serr := os.Stat(path); serr == nil && info.Mode()&fs.ModeSocket != 0 {
			return nil, notRegular(path, info.Mode())
		}
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = notRegular(path, info.Mode())
	case info.Size() > kind.Most:
		err = kind.tooLarge(path, info.Size())
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// notRegular returns an error that describes the kind of a file that is not regular.
func notRegular(path string, mode fs.FileMode) error {
	what := "something else"
	switch {
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeSymlink != 0:
		what = "a link"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return &Error{path, "is " + what + ", not a file"}
}

// all reads the rest of a file.
func all(from *os.File, path string, kind Kind) ([]byte, error) {
	var data bytes.Buffer
	if info, err := from.Stat(); err == nil && info.Mode().IsRegular() {
		data.Grow(int(info.Size()) + bytes.MinRead)
	}
	if _, err := data.ReadFrom(io.LimitReader(from, kind.Most+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > kind.Most {
		return nil, kind.tooLarge(path, 0)
	}
	return data.Bytes(), nil
}

// StandardInput names standard input on the command line.
const StandardInput = "-"

// IsStream reports whether a name refers to a stream open at the program's start: its standard input, or a descriptor
// such as that of a shell's <(command). It can be read once.
func IsStream(name string) bool {
	if name == StandardInput {
		return true
	}
	name = filepath.ToSlash(filepath.Clean(name))
	return name == "/dev/stdin" || strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}

// Input returns the content of a file or stream that the command line names. It reads a file like Read, and a stream to
// its end, for which it waits.
func Input(name string, kind Kind) ([]byte, error) {
	if !IsStream(name) {
		return Read(name, kind)
	}
	f := os.Stdin
	if name != StandardInput && filepath.Clean(name) != "/dev/stdin" {
		var err error
		if f, err = os.Open(name); err != nil {
			return nil, err
		}
		defer f.Close()
	}
	if name == StandardInput {
		name = "standard input"
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, notRegular(name, info.Mode())
	}
	return all(f, name, kind)
}

// IsRefused reports whether an error comes from this package: the file exists, but is not used.
func IsRefused(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
