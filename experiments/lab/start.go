package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Start writes the files that a student edits, and the name of the exercise, into a folder. It fails if one of the
// files exists.
func Start(e *Exercise, reference, folder string) ([]string, error) {
	into, err := files.OpenFolder(folder, folder)
	if err != nil {
		return nil, err
	}
	defer into.Close()
	names := append(e.Started(), LabFile)
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return nil, fmt.Errorf("%s already exists: move it away, or start in another folder with pausenet lab start %s FOLDER",
				filepath.Join(folder, name), reference)
		}
	}
	for _, name := range names {
		data := []byte("# Of which exercise this folder is: pausenet lab check reads it.\nexercise: " + reference + "\n")
		if name != LabFile {
			if data, err = fs.ReadFile(e.Files, StartFolder+"/"+name); err != nil {
				return nil, err
			}
		}
		if err := into.Write(name, data); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// Started returns the exercise of a student's folder.
func Started(folder string) (string, error) {
	path := filepath.Join(folder, LabFile)
	data, err := files.Read(path, submittedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is not the folder of an exercise, because it has no %s: create one with pausenet lab "+
			"start NAME, or name the exercise with --exercise", folder, LabFile)
	}
	if err != nil {
		return "", err
	}
	report := new(yamlspec.Report)
	var name string
	if root := report.Parse(path, data); root != nil {
		m := root.Mapping()
		m.Need("exercise").String(&name)
		m.Done()
	}
	return name, report.Err()
}
