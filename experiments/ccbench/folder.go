package ccbench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/jsonfile"
	"github.com/pausenet/pausenet/internal/table"
)

// Row holds one run, a row of runs.csv.
type Row struct {
	Half        string  `csv:"half,plain" json:"half" doc:"public or held-out"`
	Scenario    string  `csv:"scenario,plain" json:"scenario" doc:"name of the scenario"`
	Controller  string  `csv:"controller" json:"controller" doc:"name of the congestion control"`
	Seed        int64   `csv:"seed" json:"seed" doc:"seed of the run"`
	Score       float64 `csv:"score" json:"score" doc:"score, at least 1: less is better"`
	Slowdown    float64 `csv:"slowdown" json:"slowdown" doc:"mean over groups of flows of their mean slowdown"`
	Least       float64 `csv:"least_slowdown" json:"least_slowdown" doc:"lower bound of slowdown under any control; 0: all flows belong to jobs"`
	Fair        float64 `csv:"fair_slowdown" json:"fair_slowdown" doc:"slowdown under max-min fair sharing without delay; 0: not known"`
	Flows       int     `csv:"flows" json:"flows" doc:"flows that start by themselves, and jobs"`
	Unfinished  int     `csv:"unfinished" json:"unfinished" doc:"those that count as not ended"`
	Broken      string  `csv:"broken" json:"broken,omitempty" doc:"why the run counts as if no flow had ended; empty: it does not"`
	Paths       string  `csv:"paths" json:"paths,omitempty" doc:"ecmp: the controller refuses the scenario's load balancing, and ran with ECMP"`
	Lossless    int64   `csv:"lossless_drops" json:"lossless_drops" doc:"frames of a lossless class dropped without a fault"`
	Pauses      int64   `csv:"pauses" json:"pauses" doc:"PAUSE frames"`
	PausedNS    int64   `csv:"paused_ns" json:"paused_ns" unit:"ns" doc:"time that ports were paused, summed"`
	Marks       int64   `csv:"ecn_marks" json:"ecn_marks" doc:"packets marked congestion experienced"`
	Hops        int64   `csv:"packet_hops" json:"packet_hops" doc:"packet-hops simulated"`
	VirtualNS   int64   `csv:"virtual_ns" json:"virtual_ns" unit:"ns" doc:"virtual time of the run's end"`
	Fingerprint string  `csv:"fingerprint" json:"fingerprint" doc:"fingerprint of the run"`
	Error       string  `csv:"error" json:"error,omitempty" doc:"error that ended the run"`
}

// GroupRow holds the flows of one group of a run, a row of groups.csv.
type GroupRow struct {
	Half       string  `csv:"half,plain" doc:"public or held-out"`
	Scenario   string  `csv:"scenario,plain" doc:"name of the scenario"`
	Controller string  `csv:"controller" doc:"name of the congestion control"`
	Seed       int64   `csv:"seed" doc:"seed of the run"`
	Tag        string  `csv:"tag" doc:"tag of the flows"`
	Class      string  `csv:"class,plain" doc:"short: up to 100 KB; long; job"`
	Flows      int     `csv:"flows" doc:"number of flows"`
	Unfinished int     `csv:"unfinished" doc:"flows that count as not ended"`
	Mean       float64 `csv:"slowdown_mean" doc:"mean slowdown; 0 for a job"`
	P50        float64 `csv:"slowdown_p50" doc:"median slowdown"`
	P99        float64 `csv:"slowdown_p99" doc:"99th percentile of the slowdown"`
	Max        float64 `csv:"slowdown_max" doc:"maximum slowdown"`
	JCTNS      int64   `csv:"jct_ns,null" unit:"ns" doc:"completion time of a job; empty: it has not ended"`
	LimitNS    int64   `csv:"limit_ns" unit:"ns" doc:"its lower bound under any control; 0 for flows"`
}

// Names of the files of a folder.
const (
	ManifestFile = "bench.json"
	PageFile     = "report.html"
)

var (
	runsTable   = table.Of[Row]("runs.csv", "runs")
	groupsTable = table.Of[GroupRow]("groups.csv", "groups of flows")
)

// Limits of the sizes of files.
var (
	manifestKind = files.Kind{Name: "a manifest of a benchmark", Most: 1 << 20}
	tableKind    = files.Kind{Name: "a table of results", Most: 256 << 20}
)

// Manifest describes a folder of results.
type Manifest struct {
	Schema  int    `json:"schema"`
	Version string `json:"version"`
	// Suite holds the SHA-256 of the public scenarios with their weights.
	Suite       string       `json:"suite"`
	Only        []string     `json:"only,omitempty"`
	Seeds       []uint64     `json:"seeds"`
	Commitment  string       `json:"held_out_commitment,omitempty"`
	Controllers []Controller `json:"controllers"`
	Command     string       `json:"command,omitempty"`
}

// key identifies a run.
type key struct {
	half, scenario, controller string
	seed                       int64
}

func (r *Row) key() key      { return key{r.Half, r.Scenario, r.Controller, r.Seed} }
func (g *GroupRow) key() key { return key{g.Half, g.Scenario, g.Controller, g.Seed} }

// Results holds the runs that have been made.
type Results struct {
	Rows   []Row
	Groups []GroupRow
	known  map[key]bool
}

func (r *Results) has(k key) bool { return r.known[k] }

func (r *Results) add(row Row, groups []GroupRow) {
	if r.known == nil {
		r.known = map[key]bool{}
	}
	r.known[row.key()] = true
	r.Rows, r.Groups = append(r.Rows, row), append(r.Groups, groups...)
}

// keep removes the runs that are not among those of the bench, and sorts the others in the order of its tables.
func (r *Results) keep(b *Bench) {
	order := map[key]int{}
	for i, k := range b.runs() {
		order[k] = i
	}
	r.Rows = slices.DeleteFunc(r.Rows, func(row Row) bool { _, wanted := order[row.key()]; return !wanted })
	r.known = map[key]bool{}
	for i := range r.Rows {
		r.known[r.Rows[i].key()] = true
	}
	r.Groups = slices.DeleteFunc(r.Groups, func(g GroupRow) bool { return !r.known[g.key()] })
	slices.SortStableFunc(r.Rows, func(a, b Row) int { return cmp.Compare(order[a.key()], order[b.key()]) })
	slices.SortStableFunc(r.Groups, func(a, b GroupRow) int { return cmp.Compare(order[a.key()], order[b.key()]) })
}

// Folder represents an open folder of results.
type Folder struct {
	*files.Folder
	bench    *Bench
	manifest Manifest
	results  *Results
	saved    time.Time
	lock     *files.Lock
}

// OtherError reports a folder with the results of another benchmark.
type OtherError struct{ Path, Why string }

func (e *OtherError) Error() string {
	return fmt.Sprintf("%s has results of another benchmark (%s): choose another folder, or discard these with --force",
		e.Path,
		e.Why)
}

// Open opens or creates a folder of results for a bench, and reads the runs that it has. Runs of a controller's file
// with other contents are left out. The bench may have more controllers and seeds than the folder, and held-out
// scenarios besides. Any other difference is an OtherError, unless force is set, which discards all runs.
func Open(path string, b *Bench, version, command string, force bool) (*Folder, *Results, error) {
	folder, err := files.OpenFolder(path, path)
	if err != nil {
		return nil, nil, err
	}
	f := &Folder{Folder: folder, bench: b, results: &Results{}}
	if f.lock, err = folder.Lock(); err != nil {
		return nil, nil, errors.Join(err, folder.Close())
	}
	f.manifest = Manifest{
		Schema: 1, Version: version, Suite: b.digest, Only: b.only, Seeds: b.Seeds, Commitment: b.Commitment,
		Controllers: b.Controllers, Command: command,
	}
	if err = f.resume(force); err == nil {
		err = f.begin()
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, f.results, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return errors.Join(f.lock.Release(), f.Folder.Close()) }

// resume reads the runs of an earlier command.
func (f *Folder) resume(force bool) error {
	before, results, err := Read(f.Path())
	switch {
	case errors.Is(err, fs.ErrNotExist) || force:
		return nil
	case err != nil:
		return err
	}
	now := &f.manifest
	why := ""
	switch {
	case before.Suite != now.Suite:
		why = "other scenarios"
	case before.Version != now.Version:
		why = "version " + before.Version
	case slices.ContainsFunc(before.Seeds, func(s uint64) bool { return !slices.Contains(now.Seeds, s) }):
		why = fmt.Sprintf("seeds %v", before.Seeds)
	case before.Commitment != "" && before.Commitment != now.Commitment:
		why = "held-out scenarios of another phrase"
	}
	if why != "" {
		return &OtherError{f.Path(), why}
	}
	for _, c := range before.Controllers {
		at := slices.IndexFunc(f.bench.Controllers, func(o Controller) bool { return o.Name == c.Name })
		if at < 0 {
			return &OtherError{f.Path(), "controller " + c.Name}
		}
		if f.bench.Controllers[at].SHA256 != c.SHA256 { // the file has changed: make its runs again
			results.Rows = slices.DeleteFunc(results.Rows, func(r Row) bool { return r.Controller == c.Name })
		}
	}
	results.keep(f.bench)
	f.results = results
	return nil
}

// begin writes everything that is known before the first run.
func (f *Folder) begin() error {
	text, err := jsonfile.Format(&f.manifest)
	err = errors.Join(err, f.save())
	err = errors.Join(err, f.Write(ManifestFile, text))
	for _, c := range f.bench.Controllers {
		if c.File != "" {
			err = errors.Join(err, f.writeBelow("controllers", filepath.Base(c.File), c.content))
		}
	}
	for i := range f.bench.Cases {
		if c := &f.bench.Cases[i]; c.Half == Public {
			err = errors.Join(err, f.writeBelow("scenarios", c.Name+".yaml", []byte(c.Text)))
		}
	}
	return err
}

func (f *Folder) writeBelow(folder, name string, text []byte) error {
	if old, err := os.ReadFile(filepath.Join(f.Path(), folder, name)); err == nil && bytes.Equal(old, text) {
		return nil
	}
	sub, err := f.Sub(folder)
	if err != nil {
		return err
	}
	return errors.Join(sub.Write(name, text), sub.Close())
}

// SaveSometimes saves the results unless they were saved within the last second.
func (f *Folder) SaveSometimes() error {
	if time.Since(f.saved) < time.Second {
		return nil
	}
	return f.save()
}

// save writes the tables, groups before runs: only a run of runs.csv counts as made.
func (f *Folder) save() error {
	f.results.keep(f.bench)
	f.saved = time.Now()
	var runs, groups bytes.Buffer
	return errors.Join(
		groupsTable.WriteAll(&groups, table.Rows(f.results.Groups)), f.Write(groupsTable.Name, groups.Bytes()),
		runsTable.WriteAll(&runs, table.Rows(f.results.Rows)), f.Write(runsTable.Name, runs.Bytes()),
	)
}

// Finish writes the tables, the ranking and the page.
func (f *Folder) Finish(r *Report) error {
	page, err := r.page()
	return errors.Join(err, f.save(), f.Write(rankingTable.Name, r.rankingCSV()), f.Write(PageFile, page))
}

// Save writes the tables of an interrupted command.
func (f *Folder) Save() error { return f.save() }

// Read reads a folder of results.
func Read(path string) (*Manifest, *Results, error) {
	text, err := files.Read(filepath.Join(path, ManifestFile), manifestKind)
	if err != nil {
		return nil, nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", filepath.Join(path, ManifestFile), err)
	}
	r := &Results{}
	err = errors.Join(
		readTable(path, runsTable, func(row *Row) error { r.add(*row, nil); return nil }),
		readTable(path, groupsTable, func(g *GroupRow) error { r.Groups = append(r.Groups, *g); return nil }),
	)
	return m, r, err
}

func readTable[R any](folder string, t *table.Table[R], each func(*R) error) error {
	path := filepath.Join(folder, t.Name)
	text, err := files.Read(path, tableKind)
	if err != nil {
		return err
	}
	if err := t.Read(bytes.NewReader(text), each); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
