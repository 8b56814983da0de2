package lab

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/pausenet/pausenet/internal/yamlspec"
)

// HiddenFile says what a teacher checks that students have not seen.
const HiddenFile = "hidden.yaml"

// overlay is a folder laid over another.
type overlay struct{ upper, lower fs.FS }

// Open opens the upper folder's file, or the lower one's if that has none of the name.
func (o overlay) Open(name string) (fs.File, error) {
	f, err := o.upper.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return o.lower.Open(name)
	}
	return f, err
}

// WithHidden is the exercise with what a teacher's folder adds to it: hidden.yaml has runs, seeds, checks and score as
// exercise.yaml has them, and the folder's files take the place of the exercise's. e does not change.
func (e *Exercise) WithHidden(folder fs.FS) (*Exercise, error) {
	data, err := fs.ReadFile(folder, HiddenFile)
	if err != nil {
		return nil, err
	}
	all := *e
	all.Files = overlay{folder, e.Files}
	all.Runs, all.Checks = slices.Clip(e.Runs), slices.Clip(e.Checks)
	all.Seeds = map[string][]uint64{}
	for file, seeds := range e.Seeds {
		all.Seeds[file] = seeds
	}
	report := new(yamlspec.Report)
	if root := report.Parse(HiddenFile, data); root != nil {
		(&reader{&all}).hidden(root)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	return &all, all.complete()
}

func (d *reader) hidden(root *yamlspec.Value) {
	replace := false
	m := hiddenKeys(&replace).Decode(root)
	if replace {
		d.e.Checks = nil
	}
	d.runs(m.Get("runs"))
	d.seeds(m.Get("seeds"))
	for _, item := range few(m.Get("checks")) {
		d.check(item)
	}
	if score := m.Get("score"); score != nil {
		d.e.Score = nil
		for _, item := range few(score) {
			d.score(item)
		}
	}
	if len(d.e.Checks) == 0 {
		root.Errorf("with replace: true the checks are the hidden ones, and there are none")
	}
}
