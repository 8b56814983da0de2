package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pausenet/pausenet/experiments/counters"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/yamlspec"
)

// Start writes the files that a student edits, the text, the names of the exercise and the student, and if wanted a
// notebook into a folder. It fails if one of the files exists.
func Start(ctx context.Context, e *Exercise, reference, folder string, notebook bool) ([]string, error) {
	into, err := files.OpenFolder(folder, folder)
	if err != nil {
		return nil, err
	}
	defer into.Close()
	names := append(e.Started(), TextFile, LabFile)
	if notebook {
		names = append(names, e.NotebookFile())
	}
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return nil, fmt.Errorf("%s already exists: move it away, or start in another folder with pausenet lab start %s "+
				"FOLDER",
				filepath.Join(folder, name), reference)
		}
	}
	for _, name := range names {
		var data []byte
		switch name {
		case LabFile:
			data = []byte("# pausenet lab check reads this. Parameters are drawn by the student's name.\nexercise: " +
				reference + "\n")
			if e.Student != "" {
				data = append(data, "student: "+strconv.Quote(e.Student)+"\n"...)
			}
		case e.NotebookFile():
			data, err = e.Notebook()
		case CountersFile:
			data, err = e.counted(ctx)
		case TextFile:
			data, err = fs.ReadFile(e.Files, TextFile)
		default:
			data, err = fs.ReadFile(e.Files, StartFolder+"/"+name)
		}
		if err != nil {
			return nil, err
		}
		if err := into.Write(name, data); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// counted returns the content of counters.txt: the counters of switches and hosts, in formats of operators' tools.
func (e *Exercise) counted(ctx context.Context) ([]byte, error) {
	if e.Counted == nil {
		return fs.ReadFile(e.Files, StartFolder+"/"+CountersFile)
	}
	u, err := (&Submission{e: e}).scenario(e.Counted)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = runner.Watch(ctx, u, runner.Options{
		Controller: e.Counted.CC, Seed: u.Seed,
		Observers: []runner.NewObserver{counters.Observe(func(fabric *counters.Fabric) {
			for _, n := range fabric.Nodes {
				title, write := "show pfc counters", n.WritePFC
				if n.Host {
					title, write = "ethtool -S", n.WriteEthtool
				}
				fmt.Fprintf(&b, "# %s: %s\n", n.Name, title)
				_ = write(&b) // into memory
				fmt.Fprintln(&b)
			}
		})},
	}, runner.Watching{})
	return b.Bytes(), err
}

// Started returns the exercise of a student's folder, and the student; empty: none.
func Started(folder string) (exercise, student string, err error) {
	path := filepath.Join(folder, LabFile)
	data, err := files.Read(path, submittedFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", fmt.Errorf("%s is not the folder of an exercise, because it has no %s: create one with pausenet lab "+
			"start NAME, or name the exercise with --exercise", folder, LabFile)
	}
	if err != nil {
		return "", "", err
	}
	report := new(yamlspec.Report)
	if root := report.Parse(path, data); root != nil {
		m := root.Mapping()
		m.Need("exercise").String(&exercise)
		if name := m.Get("student"); name != nil {
			name.String(&student)
		}
		m.Done()
	}
	return exercise, student, report.Err()
}
