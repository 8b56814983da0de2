package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
)

// Statuses of a run in its manifest.
const (
	StatusRunning  = "running"
	StatusPartial  = "partial"
	StatusComplete = "complete"
)

// Manifest is manifest.json: the full resolved configuration of a run, enough to repeat it.
type Manifest struct {
	Status     string `json:"status"` // running, complete or partial
	Scenario   string `json:"scenario"`
	Controller string `json:"controller"`
	Fabric     string `json:"fabric"`             // in a line
	CC         string `json:"congestion_control"` // of a variant the one that it is of; otherwise the controller
	Seed       uint64 `json:"seed"`
	// Hash is ConfigurationHash. With Version and Build it says whether another run would come to the same.
	Hash     string   `json:"configuration_sha256"`
	Version  string   `json:"version"`
	Build    string   `json:"build,omitempty"` // of the program, where it was asked for
	Command  string   `json:"command"`
	Settings []string `json:"set"`
	Plane    string   `json:"plane"`
	Kernel   string   `json:"kernel,omitempty"` // as Machine absent of a sweep's points on the wasm plane
	Hooks    string   `json:"hooks,omitempty"`  // tcx or clsact; empty on the wasm plane
	Go       string   `json:"go"`
	Machine  string   `json:"machine,omitempty"`

	// Recipe is what the scenario was read from: enough to read it again.
	Recipe *scenario.Recipe `json:"recipe,omitempty"`

	scenario.Resolution
	Fingerprint string            `json:"fingerprint,omitempty"`
	Verdict     measure.Status    `json:"verdict,omitempty"`
	Files       map[string]string `json:"files"`

	file *os.File // as begin has written it
	at   int64    // of the status in it
}

// Program is what is to make a run, and what its user has said.
type Program struct {
	Version, Build, Command string
	Sets                    []string // settings ("path=value")
}

// NewManifest is a manifest as far as it says what is to run.
func NewManifest(u *scenario.Setup, by *Program) *Manifest {
	s := u.Scenario
	m := &Manifest{
		Scenario: s.Name, Controller: u.Name, Fabric: s.Topology.Summary(), CC: u.CC.Name, Seed: u.Seed, Version: by.Version,
		Build:   by.Build,
		Command: by.Command, Settings: append([]string{}, by.Sets...), Resolution: u.Resolution(),
	}
	m.Hash, m.Recipe = u.Hash(&m.Resolution), s.Recipe.Written()
	return m
}

// ManifestOf is that of a scenario under a controller and a seed.
func ManifestOf(s *scenario.Scenario, controller string, seed uint64, by *Program) (*Manifest, error) {
	u, err := scenario.NewSetup(s, controller, seed)
	if err != nil {
		return nil, err
	}
	return NewManifest(u, by), nil
}

// Finish takes over how the run came out.
func (m *Manifest) Finish(s *measure.Summary) {
	m.Status = StatusComplete
	if s.Partial {
		m.Status = StatusPartial
	}
	m.Fingerprint = s.Fingerprint
	m.Verdict = s.Verdict.Status
}

// ChosePanels takes the panels that a run of a scenario without any has chosen. They are not in Hash: they follow from
// the run.
func (m *Manifest) ChosePanels(panels []scenario.PanelView) {
	if len(panels) > 0 {
		m.Configuration.Report, m.Configuration.ReportDefault = panels, true
		m.Files[Panels.Name] = Panels.Title
	}
}

// Names of the files that say what a folder's results are.
const (
	ManifestFile = "manifest.json"
	SummaryFile  = "summary.json"
)

// Begin writes the manifest of a run that begins, before anything else in the folder changes: from then on nobody takes
// what is there for an earlier run's results. If it cannot be written, all is as it was.
func (m *Manifest) Begin(folder *files.Folder) error {
	data, err := formatJSON(ManifestFile, m)
	if err == nil {
		m.file, err = folder.Replace(ManifestFile, data)
	}
	before := []byte(`"status": "`)
	m.at = int64(bytes.Index(data, append(before, StatusRunning...)) + len(before))
	return err
}

// MarkPartial marks the manifest that begin has written, in its place: the words are equally long. If end has written
// another, the one that is marked is nobody's.
func (m *Manifest) MarkPartial() error {
	_, err := m.file.WriteAt([]byte(StatusPartial), m.at)
	return err
}

// Abandon ends a run that could not begin.
func (m *Manifest) Abandon(folder *files.Folder) error {
	m.Status = StatusPartial
	return m.End(folder)
}

// End writes the manifest of a run whose other files are written. If there is no room for it, the one that stands is
// marked.
func (m *Manifest) End(folder *files.Folder) error {
	err := WriteJSON(folder, ManifestFile, m)
	if err != nil {
		err = errors.Join(err, m.MarkPartial())
	}
	return errors.Join(err, m.file.Close())
}

// Decided is what decides what a run comes to, and not how that is shown or what else the scenario has.
func (m *Manifest) Decided() scenario.Resolution {
	own := m.Own()
	c := &own.Configuration
	c.Description, c.Report, c.ReportDefault, c.LookAt, c.Spans, c.Unused, c.Published = "", nil, false, nil, nil, nil, nil
	return own
}

// Repeats says that a run has to come to what another came to: both have reached their ends, of the same configuration
// and seed, by programs of one version.
func (m *Manifest) Repeats(other *Manifest) bool {
	return m.Status == StatusComplete && other.Status == StatusComplete && m.Version == other.Version && m.SameAs(other)
}

// SameAs says that two runs come to the same, but for the program that runs them.
func (m *Manifest) SameAs(other *Manifest) bool {
	text := func(m *Manifest) []byte {
		data, _ := json.Marshal([]any{m.Scenario, m.Controller, m.CC, m.Seed, m.Decided()}) // of texts and numbers
		return data
	}
	return m.Hash == other.Hash || bytes.Equal(text(m), text(other))
}
