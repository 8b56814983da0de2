// Package why explains where the time of a run's flows went, from the run's record (run --why).
package why

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/pausenet/pausenet/experiments/results/rundir"
)

// Run holds a run's record.
type Run struct {
	Scenario, Controller string
	Seed                 uint64
	Partial              bool // the run was ended early, or is in progress

	folder string
	flows  []Flow
	causes []rundir.CauseRow
	ports  map[string]port
}

// Flow holds a flow's record.
type Flow struct {
	Number              int
	Tag                 string
	Source, Destination string
	Size                int64
	Ended               bool
	Picoseconds         int64 // its completion time, or its time so far
	Slowdown            float64
	rows                []rundir.WhyRow
}

// port represents the end of a link.
type port struct {
	node, peer string
	rate       int64 // bit/s
}

// NoRecordError reports that a run's folder has no record.
type NoRecordError struct{ Folder, Command string }

func (e *NoRecordError) Error() string {
	return fmt.Sprintf("%s has no record of where flows' time went: run it with --why, by %s --why", e.Folder, e.Command)
}

// Read reads the record in a run's folder.
func Read(folder string) (*Run, error) {
	r, err := open(folder)
	if err != nil {
		return nil, err
	}
	return r, r.eachRow(func(row *rundir.WhyRow) error {
		r.flows[row.Flow].add(row)
		return nil
	})
}

// ReadSlowest reads only the flow with the largest slowdown from the record in a run's folder. The slowdown of an
// unfinished flow is its time so far over the time that its bytes take on its host's link. The flow is nil if none has
// started.
func ReadSlowest(folder string) (*Run, *Flow, error) {
	r, err := open(folder)
	if err != nil {
		return nil, nil, err
	}
	rates := map[string]int64{}
	for _, p := range r.ports {
		rates[p.node] = p.rate // a host has one
	}
	slowest, most := (*Flow)(nil), -1.0
	var now *Flow
	weigh := func() {
		if now == nil {
			return
		}
		slowdown := now.Slowdown
		if !now.Ended && now.Size > 0 && rates[now.Source] > 0 {
			slowdown = float64(now.Picoseconds) * float64(rates[now.Source]) / (8e12 * float64(now.Size))
		}
		if slowdown > most {
			slowest, most = now, slowdown
		} else {
			now.rows = nil
		}
	}
	err = r.eachRow(func(row *rundir.WhyRow) error {
		if now == nil || now.Number != row.Flow {
			weigh()
			now = &r.flows[row.Flow]
		}
		now.add(row)
		return nil
	})
	weigh()
	return r, slowest, err
}

func (f *Flow) add(row *rundir.WhyRow) {
	f.rows = append(f.rows, *row)
	f.Picoseconds += row.Picoseconds
}

// open reads all of a record but the parts of flows' time.
func open(folder string) (*Run, error) {
	var m rundir.Manifest
	if err := rundir.ReadJSON(filepath.Join(folder, rundir.ManifestFile), &m); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(folder, rundir.Why.Name)); errors.Is(err, fs.ErrNotExist) {
		return nil, &NoRecordError{folder, cmp.Or(m.Command, "pausenet run "+m.Scenario)}
	}
	r := &Run{
		Scenario: m.Scenario, Controller: m.Controller, Seed: m.Seed, Partial: m.Status != rundir.StatusComplete,
		folder: folder, ports: map[string]port{},
	}
	err := rundir.Read(folder, rundir.Links, func(l *rundir.LinkRow) error {
		r.ports[l.Port] = port{l.Node, l.Peer, l.RateBPS}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if r.causes, err = rundir.ReadCauses(folder); err != nil {
		return nil, err
	}
	err = rundir.Read(folder, rundir.Flows, func(f *rundir.FlowRow) error {
		if f.Number != len(r.flows) {
			return errors.New("flows are not numbered in order: the file is damaged")
		}
		r.flows = append(r.flows, Flow{
			Number: f.Number, Tag: f.Tag, Source: f.Source, Destination: f.Destination, Size: f.Size, Ended: f.Finished(),
			Slowdown: max(f.Slowdown, 0),
		})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// eachRow calls f with each row of why.csv.
func (r *Run) eachRow(f func(*rundir.WhyRow) error) error {
	return rundir.Read(r.folder, rundir.Why, func(row *rundir.WhyRow) error {
		if row.Flow >= len(r.flows) || max(row.Cause, row.SignalCause) >= len(r.causes) {
			return errors.New("it names a flow or a cause that there is not: the file is damaged")
		}
		if row.What == "paused" && row.Cause < 0 {
			return errors.New("a pause has no cause: the file is damaged")
		}
		return f(row)
	})
}

// Flows returns the flows that a word names: by tag or by number; all that have started for an empty word. The
// slowest come first.
func (r *Run) Flows(word string) ([]*Flow, error) {
	var some []*Flow
	for i := range r.flows {
		if f := &r.flows[i]; len(f.rows) > 0 && (word == "" || f.Tag == word) {
			some = append(some, f)
		}
	}
	if n, err := strconv.Atoi(word); len(some) == 0 && err == nil && n >= 0 && n < len(r.flows) {
		if len(r.flows[n].rows) == 0 {
			return nil, fmt.Errorf("flow %d has not started", n)
		}
		some = append(some, &r.flows[n])
	}
	if len(some) == 0 && word != "" {
		return nil, fmt.Errorf("%q is neither a tag of a flow that has started nor a flow's number, 0 to %d; tags: %s", word,
			len(r.flows)-1, r.tags())
	}
	slices.SortStableFunc(some, func(a, b *Flow) int { return cmp.Compare(b.Picoseconds, a.Picoseconds) })
	return some, nil
}

// mostTags limits the tags that a message names.
const mostTags = 10

func (r *Run) tags() string {
	text, known := "", map[string]bool{}
	for i := range r.flows {
		tag := r.flows[i].Tag
		switch {
		case known[tag] || tag == "":
			continue
		case len(known) == mostTags:
			return text + ", ..."
		case text != "":
			text += ", "
		}
		known[tag] = true
		text += tag
	}
	return cmp.Or(text, "none")
}

// Tags returns the tags of the flows that have started, in their order.
func (r *Run) Tags() (tags []string) {
	for i := range r.flows {
		if f := &r.flows[i]; len(f.rows) > 0 && f.Tag != "" && !slices.Contains(tags, f.Tag) {
			tags = append(tags, f.Tag)
		}
	}
	return tags
}
