package lab

import (
	"errors"
	"io/fs"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

// HiddenFile names the file with a teacher's checks that students do not see.
const HiddenFile = "hidden.yaml"

// overlay implements a file system in which the files of upper replace those of lower.
type overlay struct{ upper, lower fs.FS }

// Open opens the file in the upper file system, or in the lower one if it does not exist there.
func (o overlay) Open(name string) (fs.File, error) {
	f, err := o.upper.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.lower.Open(name)
	}
	return f, err
}

// WithHidden returns the exercise with the additions of a teacher's folder; e does not change. The folder's files
// replace the exercise's files of the same name, such as parameters.yaml. Its hidden.yaml adds runs, seeds and checks,
// written as in exercise.yaml. A score there replaces the exercise's; with replace: true, its checks do too.
func (e *Exercise) WithHidden(folder fs.FS) (*Exercise, error) {
	return readFor(e.Name, e.Student, overlay{folder, e.source}, true)
}

// addHidden adds the content of hidden.yaml.
func (e *Exercise) addHidden() error {
	data, err := fs.ReadFile(e.Files, HiddenFile)
	if err != nil {
		return err
	}
	report := new(yamlspec.Report)
	if root := report.Parse(HiddenFile, data); root != nil {
		(&reader{e}).hidden(root)
	}
	return report.Err()
}

func (d *reader) hidden(root *yamlspec.Value) {
	replace := false
	m := hiddenKeys(&replace).Decode(root)
	if replace {
		d.e.Checks = nil
	}
	d.runs(m.Get("runs"))
	d.seeds(m.Get("seeds"))
	own := len(d.e.Checks)
	for _, item := range few(m.Get("checks")) {
		d.check(item)
	}
	for i := range d.e.Checks[own:] {
		d.e.Checks[own+i].Hidden = true
	}
	if score := m.Get("score"); score != nil {
		d.e.Score = nil
		for _, item := range few(score) {
			d.score(item)
		}
	}
	if len(d.e.Checks) == 0 {
		root.Errorf("replace: true removes all other checks, but this file has none: add checks, or remove replace")
	}
}
