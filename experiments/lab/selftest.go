package lab

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Tried represents one of an exercise's own submissions, with its grade and what was expected of it.
type Tried struct {
	Folder   string `json:"folder"`
	Expected string `json:"expected"`
	OK       bool   `json:"ok"`
	*Grade
}

// mostStartPoints limits the points of the files that students start with.
const mostStartPoints = 2

// SelfTest grades an exercise's own submissions: start/, and all folders whose names begin with solution or wrong, in
// the exercise or in a teacher's material; and the material's trials. material may be nil.
func SelfTest(ctx context.Context, e *Exercise, material fs.FS, o Options) (all []Tried, err error) {
	scratch := o.Results
	if o.Made, err = e.Common(ctx, Options{
		Results: filepath.Join(o.Results, "common"), Jobs: o.Jobs,
		Version: o.Version,
	}); err != nil {
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
	if material == nil {
		return all, nil
	}
	o.Results = filepath.Join(scratch, TrialsFile)
	trials, err := e.Try(ctx, material, o)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	return append(all, expect(trials)...), err
}

// expect compares the grades of trials with what is expected: an honest one gets no fewer points than those before it,
// and a cheat at most half. Of copies nothing is expected.
func expect(trials []TrialGrade) (all []Tried) {
	least := Points(0)
	for _, g := range trials {
		t := Tried{Folder: g.What, Grade: g.Grade}
		switch {
		case g.Honest:
			t.Expected, t.OK = "at least "+least.String(), g.Points >= least
			least = max(least, g.Points)
		case g.Copied != "": // worth as much as the two students' parameters are near
			t.Expected, t.OK = "any", true
		default:
			t.Expected, t.OK = "at most "+(g.Of/2).String(), g.Points <= g.Of/2
		}
		all = append(all, t)
	}
	return all
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
