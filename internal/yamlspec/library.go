package yamlspec

import (
	"bytes"
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Library is spec files that come with the program: *.yaml in an embedded folder.
type Library struct {
	Files  embed.FS
	Folder string
	Kind   string // what they are, for messages: "scenario"
}

// Names are the names of the library's files, sorted.
func (l Library) Names() []string {
	entries, err := l.Files.ReadDir(l.Folder)
	if err != nil {
		panic(err) // They are compiled in.
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	slices.Sort(names)
	return names
}

// editorLine begins the line by which editors find the schema of a file in the repository. It means nothing elsewhere.
const editorLine = "# yaml-language-server:"

// Source is a file as its author wrote it, without the line for editors.
func (l Library) Source(name string) ([]byte, error) {
	data, err := l.Files.ReadFile(path.Join(l.Folder, name+".yaml"))
	if err != nil {
		hint := Suggest(name, l.Names())
		if hint == "" {
			hint = ": pausenet list has the names; a file goes by its name with .yaml"
		}
		return nil, fmt.Errorf("no built-in %s %q%s", l.Kind, name, hint)
	}
	if bytes.HasPrefix(data, []byte(editorLine)) {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return data, nil
}
