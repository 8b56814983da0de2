package results

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/experiments/results/runfolders"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lists"
)

// Scenario holds the runs of a scenario's folder.
type Scenario struct {
	Path string // the folder
	// Notes lists contents of the folder that its report does not show.
	Notes []string

	page reportPage
}

// Read reads the folder of a scenario, of several, or of one run, to show each as the command that made it did.
// Without runs.json it shows all runs of a folder, in the scenario's order.
func Read(root string) ([]*Scenario, error) {
	locations, err := runfolders.FindRuns(root)
	if err != nil {
		return nil, err
	}
	if rundir.IsRun(root) {
		s := &Scenario{Path: root}
		err := s.read(locations, nil)
		s.page.tellChanged()
		return []*Scenario{s}, err
	}
	var all []*Scenario
	for _, group := range groupBy(locations, func(p rundir.Location) string { return p.Scenario }) {
		s := &Scenario{Path: group[0].Scenario}
		var listed *rundir.Runs
		if err := rundir.ReadJSON(filepath.Join(s.Path, rundir.RunsFile), &listed); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if listed != nil {
			group = s.choose(group, listed)
		}
		if err := s.read(group, listed); err != nil {
			return nil, err
		}
		s.page.tellChanged()
		all = append(all, s)
	}
	return all, nil
}

// groupBy groups items by a key, in order of first occurrence.
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

// choose returns the runs in runs.json, in its order, and notes other runs and missing ones.
func (s *Scenario) choose(found []rundir.Location, listed *rundir.Runs) []rundir.Location {
	var chosen []rundir.Location
	for _, below := range listed.Runs {
		i := slices.IndexFunc(found, func(p rundir.Location) bool { return filepath.ToSlash(p.Below()) == below })
		if i < 0 {
			s.page.problems = append(s.page.problems, fmt.Sprintf("%s: the run is missing: run it again",
				filepath.Join(s.Path, filepath.FromSlash(below))))
			continue
		}
		chosen = append(chosen, found[i])
		found = slices.Delete(slices.Clone(found), i, i+1)
	}
	for _, p := range found {
		s.Notes = append(s.Notes, fmt.Sprintf("%s belongs to another command and is not in the report: pausenet report %s shows runs "+
			"of several commands side by side",
			p.Path(), "DIR DIR"))
	}
	return chosen
}

// read reads the runs and groups them into columns.
func (s *Scenario) read(locations []rundir.Location, listed *rundir.Runs) error {
	var runs []*RunFolder
	if len(locations) > 0 {
		s.page.folder = locations[0].Scenario
	}
	all, err := readRuns(locations, func(p rundir.Location) string { return p.Controller })
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Unfinished != "" {
			s.page.problems = append(s.page.problems, r.Unfinished)
			continue
		}
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		return &rundir.FileError{Path: s.Path, Err: errors.New(strings.Join(append([]string{"nothing to show"},
			s.page.problems...), "; "))}
	}
	if listed != nil {
		s.page.command, s.page.version = listed.Command, listed.Version
	} else {
		s.page.command, s.page.version = runs[0].manifest.Command, runs[0].manifest.Version
		sortRuns(runs)
	}
	for _, group := range groupBy(runs, func(r *RunFolder) string { return rundir.LocationOf(r.Path).Controller }) {
		s.page.columns = append(s.page.columns, column{group[0].manifest.Controller, group})
	}
	s.page.distinguish()
	return nil
}

// sortRuns sorts runs by the order of the scenario's controllers, then by name, and then by seed.
func sortRuns(runs []*RunFolder) {
	rank := func(r *RunFolder) int {
		order := r.manifest.Configuration.Controllers
		if i := slices.Index(order, r.manifest.Controller); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(runs, func(a, b *RunFolder) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.manifest.Controller, b.manifest.Controller),
			cmp.Compare(a.manifest.Seed, b.manifest.Seed))
	})
}

// distinguish adds to columns of equal names the part of their folders' paths that tells them apart: "dcqcn (before)"
// and "dcqcn (after)", or "dcqcn (incast)" and "dcqcn (incast.1, earlier)" for results that MoveAside has renamed.
func (p *reportPage) distinguish() {
	names := lists.Map(p.columns, func(c column) string { return c.name })
	for i, name := range names {
		var others [][]string // folders of the columns with this name
		for k := range names {
			if k != i && names[k] == name {
				others = append(others, p.columns[k].folders())
			}
		}
		if len(others) > 0 {
			p.columns[i].name = fmt.Sprintf("%s (%s)", name, apart(p.columns[i].folders(), others))
		}
	}
}

// folders returns the folders that a column's runs are in, without the controller's.
func (c *column) folders() []string {
	location := rundir.LocationOf(c.runs[0].Path)
	folder := location.Scenario
	if len(c.runs) == 1 && location.Several {
		folder = filepath.Dir(location.Path())
	}
	return strings.Split(filepath.ToSlash(filepath.Clean(folder)), "/")
}

// apart returns the shortest end of a path that no other path has.
func apart(path []string, others [][]string) string {
	end := func(path []string, n int) string { return strings.Join(path[max(0, len(path)-n):], "/") }
	n := 1
	for n < len(path) && slices.ContainsFunc(others, func(o []string) bool { return end(o, n) == end(path, n) }) {
		n++
	}
	last := path[len(path)-1]
	number := filepath.Ext(last)
	_, err := strconv.Atoi(strings.TrimPrefix(number, "."))
	if err == nil && slices.ContainsFunc(others, func(o []string) bool { return o[len(o)-1]+number == last }) {
		return end(path, n) + ", earlier"
	}
	return end(path, n)
}

// tellChanged adds warnings about files of the page that were changed after their run.
func (p *reportPage) tellChanged() {
	for i := range p.columns {
		for _, r := range p.columns[i].runs {
			if r.manifest.Status == rundir.StatusComplete {
				shown := []string{
					rundir.ManifestFile, rundir.SummaryFile, rundir.Flows.Name, rundir.Links.Name, rundir.Events.Name,
					rundir.Panels.Name,
				}
				r.Missing = append(r.Missing, rundir.Changed(r.Path, shown...)...)
			}
		}
	}
}

// Missing returns the parts that the report lacks because files are missing, and the files that were changed after the
// runs.
func (s *Scenario) Missing() []string { return s.page.missing() }

func (p *reportPage) missing() []string {
	all := slices.Clone(p.problems)
	for i := range p.columns {
		for _, r := range p.columns[i].runs {
			all = append(all, r.Missing...)
		}
	}
	return all
}

// Write writes the report, to report.html in the folder unless a path is given, and the figures in the given formats
// into the folder beside it. It returns the report's path.
func (s *Scenario) Write(path string, formats []string) (string, error) {
	if path == "" {
		path = filepath.Join(s.Path, rundir.ReportFile)
	}
	return path, s.page.write(path, rundir.FiguresFolder, formats)
}

// Write writes the report of a scenario's runs into its folder, from their files, as Read and Write do later. With
// panels it also writes each run's own figures, within the folder that the user named.
func Write(folder *files.Folder, within string, runs []rundir.Location, list *rundir.Runs, formats []string,
	panels bool,
) error {
	s := &Scenario{Path: folder.Path()}
	if err := s.read(runs, list); err != nil {
		return err
	}
	if err := s.page.writeInto(folder, rundir.ReportFile, rundir.FiguresFolder, formats); err != nil {
		return err
	}
	if !panels {
		return nil
	}
	return s.page.writeRunFigures(within, formats)
}

// write writes the page, and for given formats the figures into a folder beside it.
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
