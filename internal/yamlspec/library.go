package yamlspec

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/spelling"
)

// Library represents a set of built-in spec files: *.yaml in an embedded folder.
type Library struct {
	Files  embed.FS
	Folder string
	Kind   string // kind of the files, for messages: "scenario"
}

// Names returns the names of the library's files, sorted.
func (l Library) Names() []string {
	entries, err := l.Files.ReadDir(l.Folder)
	if err != nil {
		panic(err) // The files are compiled in.
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	slices.Sort(names)
	return names
}

// editorLine starts the line by which editors find the schema of a file in the repository. It has no meaning
// elsewhere.
const editorLine = "# yaml-language-server:"

// Source returns a file without the line for editors.
func (l Library) Source(name string) ([]byte, error) {
	data, err := l.Files.ReadFile(path.Join(l.Folder, name+".yaml"))
	if err != nil {
		hint := spelling.Suggest(name, l.Names())
		hint = cmp.Or(hint, ": pausenet list prints the names; write a file's name with .yaml")
		return nil, fmt.Errorf("no built-in %s %q%s", l.Kind, name, hint)
	}
	if bytes.HasPrefix(data, []byte(editorLine)) {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return data, nil
}
