package controllerfile

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pausenet/pausenet/internal/lists"
)

//go:embed templates
var templates embed.FS

// template describes a first file in a language.
type template struct {
	language, file, end string
	build               string // command that builds a controller from it; empty: none is needed
	header              string // name of an additional file; empty: none
}

var allTemplates = []template{
	{language: "starlark", file: "controller.star", end: ".star"},
	{
		language: "c", file: "controller.c", end: ".c", header: "pausenet.h",
		build: "clang --target=wasm32 -O2 -g -nostdlib -Wl,--no-entry,--stack-first,-z,stack-size=8192 -o MODULE SOURCE",
	},
	{
		language: "rust", file: "controller.rs", end: ".rs",
		build: "rustc --edition 2021 --target wasm32-unknown-unknown -O -g -C panic=abort -C link-arg=-zstack-size=8192 " +
			"--crate-type cdylib -o MODULE SOURCE",
	},
	{
		language: "go", file: "controller.go.txt", end: ".go",
		build: "tinygo build -target=wasm-unknown -gc=none -scheduler=none -panic=trap -no-debug -o MODULE SOURCE",
	},
}

// Languages returns the languages that New knows, the default first.
func Languages() (all []string) {
	return lists.Map(allTemplates, func(t template) string { return t.language })
}

// New writes a template of a congestion control's file, and returns the next steps. name may have a folder and the
// extension.
func New(name, language string) (next string, err error) {
	for _, t := range allTemplates {
		if t.language != language {
			continue
		}
		path := strings.TrimSuffix(name, t.end) + t.end
		base := strings.TrimSuffix(filepath.Base(path), t.end)
		if !namePattern.MatchString(base) {
			return "", fmt.Errorf("name %q: a congestion control's name is letters, digits, '.', '_' and '-', since it names "+
				"a folder of results", base)
		}
		err := write(path, t.file, base)
		if errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("%s is there already: give another name, or remove it", path)
		}
		if err == nil && t.header != "" {
			if err = write(filepath.Join(filepath.Dir(path), t.header), t.header, base); errors.Is(err, fs.ErrExist) {
				err = nil // another controller's: it is the same
			}
		}
		if err != nil {
			return "", err
		}
		return t.next(path), nil
	}
	return "", fmt.Errorf("--lang %q: there are %s", language, strings.Join(Languages(), ", "))
}

// write writes a template as a new file.
func write(path, template, name string) error {
	text, err := templates.ReadFile("templates/" + template)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strings.ReplaceAll(string(text), "NAME", name))
	return errors.Join(err, file.Close())
}

// next returns the next steps for the file.
func (t *template) next(path string) string {
	controller, text := path, fmt.Sprintf("%s is written\n", path)
	if t.build != "" {
		controller = strings.TrimSuffix(path, t.end) + ".wasm"
		text += fmt.Sprintf("\n  %s\n", strings.NewReplacer("SOURCE", path, "MODULE", controller).Replace(t.build))
	} else {
		text += "\n"
	}
	return text + fmt.Sprintf("  pausenet cc check %s\n  pausenet run incast --cc dcqcn,%s\n", controller, controller)
}
