package cluster

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/jsonfile"
)

// workerState holds the coordinator's state of a worker. The JSON fields survive a restart of the coordinator.
type workerState struct {
	ID     string        `json:"id"`
	Key    string        `json:"key"` // its public nkey, with which it signs messages
	Joined time.Time     `json:"joined"`
	Seen   time.Time     `json:"seen"`
	Points int           `json:"points"` // number of points made
	Twice  int           `json:"twice,omitempty"`
	Failed int           `json:"failed,omitempty"`
	Wall   time.Duration `json:"wall_ns"`
	Out    string        `json:"out,omitempty"` // the reason why it is excluded

	running  []string
	informed bool // it knows that the sweep is complete
}

// Status describes the progress of a sweep.
type Status struct {
	ID      string         `json:"id"`
	Name    string         `json:"name"`
	Points  int            `json:"points"`
	Made    int            `json:"made"` // includes points kept from before
	Kept    int            `json:"kept"`
	Failed  int            `json:"failed"`
	Audited int            `json:"audited"`
	Over    bool           `json:"over"`
	Started time.Time      `json:"begun"` // start of the current coordinator
	Written time.Time      `json:"written"`
	Rate    float64        `json:"points_per_second"`
	Left    float64        `json:"seconds_left,omitempty"`
	Workers []WorkerStatus `json:"workers"`
}

// WorkerStatus holds a worker's part of a Status.
type WorkerStatus struct {
	ID      string   `json:"id"`
	Points  int      `json:"points"`
	Failed  int      `json:"failed,omitempty"`
	Rate    float64  `json:"points_per_second"`
	Running []string `json:"running,omitempty"`
	Silent  float64  `json:"silent_seconds"` // time since its last message
	Out     string   `json:"out,omitempty"`
}

// away sets the silence after which a worker is shown as away.
const away = 3 * signEvery

// Status returns the progress of the sweep.
func (c *Coordinator) Status() *Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	s := &Status{ID: c.ID, Points: len(c.points), Started: c.started, Written: now, Workers: []WorkerStatus{}}
	for _, p := range c.points {
		switch {
		case p.made:
			s.Made++
		case p.Failures >= mostFailures:
			s.Failed++
		}
		if p.kept {
			s.Kept++
		}
		if p.Audited {
			s.Audited++
		}
	}
	for _, w := range c.workers {
		o := WorkerStatus{
			ID: w.ID, Points: w.Points, Failed: w.Failed, Running: w.running, Silent: now.Sub(w.Seen).Seconds(),
			Out: w.Out,
		}
		if d := w.Seen.Sub(w.Joined).Seconds(); d > 0 && w.Out == "" {
			o.Rate = float64(w.Points) / d
			if now.Sub(w.Seen) < away {
				s.Rate += o.Rate
			}
		}
		s.Workers = append(s.Workers, o)
	}
	slices.SortFunc(s.Workers, func(a, b WorkerStatus) int { return cmp.Compare(a.ID, b.ID) })
	if left := s.Points - s.Made - s.Failed; left > 0 && s.Rate > 0 {
		s.Left = float64(left) / s.Rate
	}
	return s
}

// Line returns the status in one line.
func (s *Status) Line() string {
	there := 0
	for i := range s.Workers {
		if w := &s.Workers[i]; w.Out == "" && w.Silent < away.Seconds() {
			there++
		}
	}
	text := fmt.Sprintf("%d of %d points", s.Made, s.Points)
	if s.Kept > 0 {
		text += fmt.Sprintf(" (%d kept)", s.Kept)
	}
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	text += fmt.Sprintf(", workers: %d, %.3g points/s", there, s.Rate)
	if s.Left > 0 {
		text += fmt.Sprintf(", about %v left", time.Duration(s.Left*float64(time.Second)).Round(time.Second))
	}
	return text
}

// Describe writes the status for people.
func (s *Status) Describe(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s\n", s.Line())
	if len(s.Workers) > 0 {
		fmt.Fprintf(t, "\n  worker\tpoints\tfailed\tpoints/s\tlast heard\tstate\n")
	}
	for i := range s.Workers {
		o := &s.Workers[i]
		state := "waits"
		switch {
		case o.Out != "":
			state = "excluded: " + o.Out
		case o.Silent >= away.Seconds():
			state = "away"
		case len(o.Running) > 0:
			state = "makes " + strings.Join(o.Running, "; ")
		}
		fmt.Fprintf(t, "  %s\t%d\t%d\t%.3g\t%v ago\t%s\n", o.ID, o.Points, o.Failed, o.Rate,
			time.Duration(o.Silent*float64(time.Second)).Round(time.Second), state)
	}
	return t.Flush()
}

// statusFile names the file with the status, for sweep status.
const statusFile = "status.json"

func (c *Coordinator) writeStatus(over bool) {
	s := c.Status()
	s.Over = over
	data, err := jsonfile.Format(s)
	if err == nil {
		err = writePrivate(c.Private, statusFile, data)
	}
	if err != nil {
		c.say("cannot write the status: " + err.Error())
	}
}

// ReadStatus reads the last status in a sweep's folder.
func ReadStatus(directory string) (*Status, error) {
	data, err := files.Read(filepath.Join(directory, ".cluster", statusFile),
		files.Kind{Name: "a sweep's status", Most: 16 << 20, Plain: true})
	if err != nil {
		return nil, err
	}
	s := new(Status)
	return s, json.Unmarshal(data, s)
}
