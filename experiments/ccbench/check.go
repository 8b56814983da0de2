package ccbench

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/lists"
)

// CheckOptions selects the runs that Check repeats.
type CheckOptions struct {
	// Sample sets the number of runs; 0: all.
	Sample int
	// HeldOut holds the secret phrase, needed to repeat held-out runs; empty: only public ones.
	HeldOut string
	Jobs    int
}

// CheckResult holds the result of a check.
type CheckResult struct {
	Folder  string `json:"folder"`
	Version string `json:"version"` // of the program that made the folder
	Runs    int    `json:"runs"`
	Checked int    `json:"checked"`
	// Differences describes each difference in a line.
	Differences []string `json:"differences"`
}

// EntryError reports a folder that is no complete entry.
type EntryError struct{ Path, Why string }

func (e *EntryError) Error() string { return e.Path + ": " + e.Why }

// Check repeats a sample of a folder's runs and compares their fingerprints and scores. The folder's contents choose
// the sample.
func Check(ctx context.Context, path string, o CheckOptions) (*CheckResult, error) {
	m, results, err := Read(path)
	if err != nil {
		return nil, err
	}
	given := Options{Seeds: m.Seeds, Only: m.Only, HeldOut: o.HeldOut}
	for _, c := range m.Controllers {
		name := c.Name
		if c.File != "" {
			if !filepath.IsLocal(c.File) {
				return nil, &EntryError{path, fmt.Sprintf("%s: controller file %s is not below the folder", ManifestFile, c.File)}
			}
			name = filepath.Join(path, c.File)
			if suffix, window := cutWindow(c.Name); window {
				name += suffix
			}
		}
		given.Controllers = append(given.Controllers, name)
	}
	if m.Commitment == "" && o.HeldOut != "" {
		return nil, &EntryError{path, "it has no held-out runs: leave --held-out out"}
	}
	b, err := New(given)
	if err != nil {
		return nil, err
	}
	if m.Commitment != "" && o.HeldOut != "" && b.Commitment != m.Commitment {
		return nil, &EntryError{path, "its held-out scenarios come from another phrase than that of --held-out"}
	}
	if m.Suite != b.digest {
		return nil, &EntryError{path, fmt.Sprintf("its scenarios are not those of this program: pausenet %s made it",
			m.Version)}
	}
	for _, c := range m.Controllers {
		if now := b.controllerOf(key{controller: c.Name}); now == nil || now.SHA256 != c.SHA256 {
			return nil, &EntryError{path, fmt.Sprintf("the file of %s has changed since the runs", c.Name)}
		}
	}
	result := &CheckResult{Folder: path, Version: m.Version, Differences: []string{}}
	wanted := b.runs()
	for _, k := range wanted {
		if !results.has(k) {
			return nil, &EntryError{path, fmt.Sprintf("it lacks the run of %s under %s with seed %d: finish it first",
				k.scenario,
				k.controller, k.seed)}
		}
	}
	rows := slices.DeleteFunc(results.Rows, func(r Row) bool { return b.caseOf(r.key()) == nil })
	result.Runs = len(rows)
	if o.Sample > 0 && o.Sample < len(rows) {
		rows = sampleOf(path, rows, o.Sample)
	}
	result.Checked = len(rows)
	result.Differences, err = b.repeat(ctx, rows, o.Jobs)
	return result, err
}

// cutWindow returns the suffix of a controller with an added window.
func cutWindow(name string) (suffix string, window bool) {
	const win = "+win"
	return win, len(name) > len(win) && name[len(name)-len(win):] == win
}

// sampleOf chooses runs by the contents of runs.csv.
func sampleOf(path string, rows []Row, n int) []Row {
	text, _ := files.Read(filepath.Join(path, runsTable.Name), tableKind)
	rng := rand.New(rand.NewChaCha8(sha256.Sum256(text)))
	return lists.Map(rng.Perm(len(rows))[:n], func(i int) Row { return rows[i] })
}

// repeat makes runs again and describes the differences.
func (b *Bench) repeat(ctx context.Context, rows []Row, jobs int) ([]string, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(jobs, 1))
	found := make([]string, len(rows))
	var mu sync.Mutex
	for i := range rows {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			before := &rows[i]
			now, _, err := b.point(ctx, before.key())
			if err != nil {
				return err
			}
			text := fmt.Sprintf("%s under %s with seed %d: ", before.Scenario, before.Controller, before.Seed)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case now.Fingerprint != before.Fingerprint:
				found[i] = text + fmt.Sprintf("fingerprint %.12s, now %.12s", before.Fingerprint, now.Fingerprint)
			case now != *before:
				found[i] = text + fmt.Sprintf("the row of runs.csv differs: score %v, now %v", before.Score, now.Score)
			}
			return nil
		})
	}
	err := group.Wait()
	differences := slices.DeleteFunc(found, func(s string) bool { return s == "" })
	if differences == nil {
		differences = []string{}
	}
	return differences, err
}
