package lab

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/spelling"
)

// exerciseFile limits the files of an exercise.
var exerciseFile = files.Kind{Name: "a file of an exercise", Most: 16 << 20}

//go:embed exercises
var builtin embed.FS

// course lists the built-in exercises in teaching order.
var course = []string{
	"pfc", "headroom", "ecn", "aimd", "dcqcn", "incast", "dcon", "storm", "incident", "figure", "tournament", "rdma",
	"challenge",
}

// Names returns the names of the built-in exercises in the order of the course.
func Names() []string { return slices.Clone(course) }

// Builtin returns a built-in exercise.
func Builtin(name string) (*Exercise, error) {
	folder, err := fs.Sub(builtin, "exercises/"+name)
	if err != nil {
		return nil, err
	}
	return Read(name, folder)
}

// Load returns an exercise by its name, or by its folder for a teacher's own exercise.
func Load(nameOrFolder string) (*Exercise, error) {
	if slices.Contains(course, nameOrFolder) {
		return Builtin(nameOrFolder)
	}
	if info, err := os.Stat(nameOrFolder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("no exercise or folder %q%s (list the exercises with pausenet lab list)", nameOrFolder,
			spelling.Suggest(nameOrFolder, Names()))
	}
	folder, err := filepath.Abs(nameOrFolder)
	if err != nil {
		return nil, err
	}
	return Read(filepath.Base(folder), files.Dir(folder, exerciseFile))
}

// Text returns the text for students, in Markdown.
func (e *Exercise) Text() (string, error) {
	text, err := fs.ReadFile(e.Files, TextFile)
	return string(text), err
}
