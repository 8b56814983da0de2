package lab

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// exerciseFile is any file of an exercise.
var exerciseFile = files.Kind{Name: "a file of an exercise", Most: 16 << 20}

//go:embed exercises
var builtin embed.FS

// course are the exercises that come with the program, in the order that teaches.
var course = []string{"pfc", "headroom", "ecn", "aimd", "dcqcn", "incast", "dcon", "storm", "challenge"}

// Names are the names of the exercises that come with the program, in the order of the course.
func Names() []string { return slices.Clone(course) }

// Builtin is an exercise that comes with the program.
func Builtin(name string) (*Exercise, error) {
	folder, err := fs.Sub(builtin, "exercises/"+name)
	if err != nil {
		return nil, err
	}
	return Read(name, folder)
}

// Load is an exercise by its name, or by its folder, which is a teacher's own.
func Load(nameOrFolder string) (*Exercise, error) {
	if slices.Contains(course, nameOrFolder) {
		return Builtin(nameOrFolder)
	}
	if info, err := os.Stat(nameOrFolder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%q is neither an exercise nor a folder%s: pausenet lab list has the names", nameOrFolder,
			yamlspec.Suggest(nameOrFolder, Names()))
	}
	folder, err := filepath.Abs(nameOrFolder)
	if err != nil {
		return nil, err
	}
	return Read(filepath.Base(folder), files.Dir(folder, exerciseFile))
}

// Text is what a student reads, in Markdown.
func (e *Exercise) Text() (string, error) {
	text, err := fs.ReadFile(e.Files, TextFile)
	return string(text), err
}
