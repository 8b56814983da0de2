package experiments

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/internal/files"
)

// ScenarioResults are the runs of a scenario's folder.
type ScenarioResults struct {
	Path string // the folder
	// Notes say what the folder has that its report does not show.
	Notes []string

	page reportPage
}

// ReadResults reads the folder of a scenario, of several, or of one run, each ready to be shown again as the command that
// made it did. Without its runs.json a folder's runs are all shown, in the scenario's order.
func ReadResults(root string) ([]*ScenarioResults, error) {
	places, err := findRuns(root)
	if err != nil {
		return nil, err
	}
	if isRunFolder(root) {
		s := &ScenarioResults{Path: root}
		return []*ScenarioResults{s}, s.read(places, nil)
	}
	var all []*ScenarioResults
	for _, group := range groupBy(places, func(p runPlace) string { return p.scenario }) {
		s := &ScenarioResults{Path: group[0].scenario}
		var listed *runsFile
		if err := readResult(filepath.Join(s.Path, runsName), &listed); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if listed != nil {
			group = s.choose(group, listed)
		}
		if err := s.read(group, listed); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// groupBy groups items by a key, in the order in which the keys come first.
func groupBy[T any](items []T, key func(T) string) [][]T {
	var groups [][]T
	index := map[string]int{}
	for _, item := range items {
		k, known := index[key(item)]
		if !known {
			k = len(groups)
			index[key(item)] = k
			groups = append(groups, nil)
		}
		groups[k] = append(groups[k], item)
	}
	return groups
}

// choose are the runs of runs.json, in its order; what else is there, or is not, is noted.
func (s *ScenarioResults) choose(found []runPlace, listed *runsFile) []runPlace {
	var chosen []runPlace
	for _, below := range listed.Runs {
		i := slices.IndexFunc(found, func(p runPlace) bool { return filepath.ToSlash(p.below()) == below })
		if i < 0 {
			s.page.problems = append(s.page.problems, fmt.Sprintf("%s: the run is gone: run it again", filepath.Join(s.Path, filepath.FromSlash(below))))
			continue
		}
		chosen = append(chosen, found[i])
		found = slices.Delete(slices.Clone(found), i, i+1)
	}
	for _, p := range found {
		s.Notes = append(s.Notes, fmt.Sprintf("%s is of another command and not in the report: pausenet report %s shows runs of several commands side by side",
			p.path(), "DIR DIR"))
	}
	return chosen
}

// read reads the runs, and puts them into columns.
func (s *ScenarioResults) read(places []runPlace, listed *runsFile) error {
	var runs []*RunFolder
	for _, p := range places {
		r, err := ReadRun(p.path())
		if err != nil {
			return err
		}
		if r.Unfinished != "" {
			s.page.problems = append(s.page.problems, r.Unfinished)
			continue
		}
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		return &FileError{Path: s.Path, Err: errors.New(strings.Join(append([]string{"nothing to show"}, s.page.problems...), "; "))}
	}
	if listed != nil {
		s.page.command, s.page.version = listed.Command, listed.Version
	} else {
		s.page.command, s.page.version = runs[0].manifest.Command, runs[0].manifest.Version
		sortRuns(runs)
	}
	for _, group := range groupBy(runs, func(r *RunFolder) string { return placeOf(r.Path).controller }) {
		s.page.columns = append(s.page.columns, column{group[0].manifest.Controller, group})
	}
	s.page.distinguish()
	return nil
}

// sortRuns puts runs in the order of the scenario's controllers, others after them by name, each by seed.
func sortRuns(runs []*RunFolder) {
	rank := func(r *RunFolder) int {
		order := r.manifest.Configuration.Controllers
		if i := slices.Index(order, r.manifest.Controller); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(runs, func(a, b *RunFolder) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.manifest.Controller, b.manifest.Controller), cmp.Compare(a.manifest.Seed, b.manifest.Seed))
	})
}

// distinguish gives columns of equal names the ends of their folders' paths, as much as tells them apart.
func (p *reportPage) distinguish() {
	words := make([][]string, len(p.columns))
	for i := range p.columns {
		place := placeOf(p.columns[i].runs[0].Path)
		words[i] = strings.Split(filepath.ToSlash(filepath.Join(place.scenario, place.controller)), "/")
		if len(p.columns[i].runs) == 1 && place.several {
			words[i] = strings.Split(filepath.ToSlash(place.path()), "/")
		}
	}
	end := func(i, n int) string { return strings.Join(words[i][max(0, len(words[i])-n):], "/") }
	// taken says whether another column than i has its name by some rule.
	taken := func(i int, rule func(int) string) bool {
		for k := range p.columns {
			if k != i && rule(k) == rule(i) {
				return true
			}
		}
		return false
	}
	names := make([]string, len(p.columns))
	for i := range p.columns {
		names[i] = p.columns[i].name
		if !taken(i, func(k int) string { return p.columns[k].name }) {
			continue
		}
		for n := 2; ; n++ {
			if names[i] = end(i, n); n >= len(words[i]) || !taken(i, func(k int) string { return end(k, n) }) {
				break
			}
		}
	}
	for i := range p.columns {
		p.columns[i].name = names[i]
	}
}

// Missing are what the folders lack of what the report shows.
func (s *ScenarioResults) Missing() []string { return s.page.missing() }

func (p *reportPage) missing() []string {
	all := slices.Clone(p.problems)
	for i := range p.columns {
		for _, r := range p.columns[i].runs {
			all = append(all, r.Missing...)
		}
	}
	return all
}

// Write writes the report, to report.html in the folder unless a path is given, and the figures in the given formats into
// the folder beside it. It returns the report's path.
func (s *ScenarioResults) Write(path string, formats []string) (string, error) {
	if path == "" {
		path = filepath.Join(s.Path, reportName)
	}
	return path, s.page.write(path, figuresFolder, formats)
}

// writeScenario writes the report of a scenario's runs into its folder, from the files that they left, as ReadResults and Write do later; and with
// panels, within the folder that the user named, each run's own figures.
func writeScenario(folder *files.Folder, within string, runs []runPlace, list *runsFile, formats []string, panels bool) error {
	s := &ScenarioResults{Path: folder.Path()}
	if err := s.read(runs, list); err != nil {
		return err
	}
	if err := s.page.writeInto(folder, reportName, figuresFolder, formats); err != nil {
		return err
	}
	if !panels {
		return nil
	}
	return s.page.writeRunFigures(within, formats)
}

// write writes the page, and if there are formats the figures, into a folder beside it.
func (p *reportPage) write(path, figures string, formats []string) error {
	folder, err := files.OpenFolder(filepath.Dir(path), filepath.Dir(path))
	if err != nil {
		return err
	}
	defer folder.Close()
	return p.writeInto(folder, filepath.Base(path), figures, formats)
}

func (p *reportPage) writeInto(folder *files.Folder, name, figures string, formats []string) error {
	content, err := p.render()
	if err != nil {
		return err
	}
	if err := folder.Write(name, content); err != nil {
		return err
	}
	return p.writeFigures(folder, figures, formats)
}
