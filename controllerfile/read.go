package controllerfile

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/files"
)

// languages holds the package of each language by the extension of its files.
var languages = map[string]string{".star": "star", ".wasm": "wasm"}

// kind describes a file with a congestion control to package files. The limit of 4 MB leaves room for modules written
// in Rust: if one indexes an array, it includes 1.8 MB of its library's debugging information.
var kind = files.Kind{Name: "a congestion control", Most: 4 << 20}

// namePattern matches valid names of files. The name also names a folder of results.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// WindowEnd adds a window to a congestion control. It may follow a file's name, or a name of the registry.
const WindowEnd = "+win"

// Is reports whether a congestion control's name is that of a file: mine.star, ./mine.star, mine.star+win.
func Is(name string) bool {
	_, ok := languages[extension(name)]
	return ok
}

func extension(name string) string {
	return strings.ToLower(filepath.Ext(strings.TrimSuffix(strings.TrimSpace(name), WindowEnd)))
}

// Name returns the name of a congestion control from a file: the file's name, without its folder.
func Name(path string) string { return filepath.Base(strings.TrimSpace(path)) }

// Read reads the congestion control in a file. An invalid file gives joined *Errors.
func Read(path string) (*cc.Spec, error) { return ReadFrom(nil, path) }

// ReadFrom works like Read, but takes the file from sources.
func ReadFrom(sources *files.Sources, path string) (*cc.Spec, error) {
	path = strings.TrimSuffix(strings.TrimSpace(path), WindowEnd)
	content, err := sources.Read(path, kind)
	if err != nil {
		return nil, err
	}
	if !namePattern.MatchString(Name(path)) {
		return nil, &Error{File: path, Message: "a congestion control's file is named by letters, digits, '.', " +
			"'_' and '-', since that names a folder of results"}
	}
	return Parse(path, content, nil)
}

// Parse works like Read, for a file with this content. meter, if not nil, counts and limits the program's steps.
func Parse(path string, content []byte, meter *Meter) (*cc.Spec, error) {
	end := extension(path)
	read, ok := readers[end]
	if !ok {
		return nil, &Error{File: path, Message: fmt.Sprintf("this program does not run %s files: use the command "+
			"line (a Go program imports "+
			"controllerfile/%s for them)", end, languages[end])}
	}
	program, err := read(path, content)
	if err != nil {
		return nil, err
	}
	return Spec(Name(path), content, program, meter), nil
}
