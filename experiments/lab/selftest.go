package lab

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Tried is the grade of one of an exercise's own submissions.
type Tried struct {
	Folder   string `json:"folder"`
	Expected string `json:"expected"`
	OK       bool   `json:"ok"`
	*Grade
}

// mostStartPoints limits the points of the files that students start with.
const mostStartPoints = 2

// Try grades an exercise's own submissions: start/, and all folders whose names begin with solution or wrong, in the
// exercise or in a teacher's material, which may be nil.
func Try(ctx context.Context, e *Exercise, material fs.FS, o Options) (all []Tried, err error) {
	if o.Made, err = e.Common(ctx, Options{Results: filepath.Join(o.Results, "common"), Jobs: o.Jobs, Version: o.Version}); err != nil {
		return nil, err
	}
	sources := []fs.FS{e.Files}
	if material != nil {
		if own, err := fs.Sub(material, e.Name); err == nil {
			sources = append(sources, own)
		}
	}
	for _, source := range sources {
		entries, _ := fs.ReadDir(source, ".")
		for _, entry := range entries {
			name := entry.Name()
			solution, wrong := strings.HasPrefix(name, "solution"), strings.HasPrefix(name, "wrong")
			if !entry.IsDir() || !solution && !wrong && name != StartFolder {
				continue
			}
			t := Tried{Folder: name}
			if t.Grade, err = e.try(ctx, source, name, o); err != nil {
				return nil, err
			}
			switch {
			case solution:
				t.Expected, t.OK = "all "+e.Total().String(), t.Full()
			case name == "wrong":
				t.Expected, t.OK = e.Wrong.String(), t.Points == e.Wrong
			case wrong:
				t.Expected, t.OK = "less than "+e.Total().String(), !t.Full()
			default:
				t.Expected, t.OK = "at most "+Points(mostStartPoints).String(), t.Points <= mostStartPoints
			}
			t.OK = t.OK && len(t.Problems) == 0
			all = append(all, t)
		}
	}
	return all, nil
}

// try grades a folder of the exercise's own.
func (e *Exercise) try(ctx context.Context, source fs.FS, name string, o Options) (*Grade, error) {
	folder := filepath.Join(o.Results, name, "submitted")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(source, name)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		data, err := fs.ReadFile(source, name+"/"+entry.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, entry.Name()), data, 0o600)
		}
		if err != nil {
			return nil, err
		}
	}
	o.Results = filepath.Join(o.Results, name, "results")
	return Submit(e, folder).Check(ctx, o)
}
