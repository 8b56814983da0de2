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

// Start writes what a student edits into a folder, and which exercise it is of. It replaces no file.
func Start(e *Exercise, reference, folder string) ([]string, error) {
	into, err := files.OpenFolder(folder, folder)
	if err != nil {
		return nil, err
	}
	defer into.Close()
	names := append(e.Started(), LabFile)
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return nil, fmt.Errorf("%s is there already: move it away, or start in another folder: pausenet lab start %s FOLDER",
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

// Started is the exercise that a student's folder is of.
func Started(folder string) (string, error) {
	path := filepath.Join(folder, LabFile)
	data, err := files.Read(path, handIn)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is no folder of an exercise, as it has no %s: pausenet lab start NAME makes one, or name the exercise with --exercise", folder, LabFile)
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
