package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/jsonfile"
)

// Statuses of a run in its manifest.
const (
	StatusRunning  = "running"
	StatusPartial  = "partial"
	StatusComplete = "complete"
)

// Manifest holds the content of manifest.json: the full resolved configuration of a run, enough to repeat it.
type Manifest struct {
	Status     string `json:"status"` // running, complete or partial
	Scenario   string `json:"scenario"`
	Controller string `json:"controller"`
	Fabric     string `json:"fabric"` // in one line
	// for a variant its congestion control; otherwise equal to the controller
	CC   string `json:"congestion_control"`
	Seed uint64 `json:"seed"`
	// Hash holds the ConfigurationHash. Runs with equal Hash, Version and Build have equal results.
	Hash     string   `json:"configuration_sha256"`
	Version  string   `json:"version"`
	Build    string   `json:"build,omitempty"` // of the program, if requested
	Command  string   `json:"command"`
	Settings []string `json:"set"`
	Plane    string   `json:"plane"`
	Kernel   string   `json:"kernel,omitempty"` // like Machine, absent for points of a sweep on the wasm plane
	Hooks    string   `json:"hooks,omitempty"`  // tcx or clsact; empty on the wasm plane
	Go       string   `json:"go"`
	Machine  string   `json:"machine,omitempty"`

	// Recipe holds the files and settings to read the scenario again.
	Recipe *scenario.Recipe `json:"recipe,omitempty"`

	scenario.Resolution
	Fingerprint string            `json:"fingerprint,omitempty"`
	Verdict     measure.Status    `json:"verdict,omitempty"`
	Files       map[string]string `json:"files"`

	file *os.File // as written by Begin
}

// Program describes the program that makes a run, and its user's settings.
type Program struct {
	Version, Build, Command string
	Sets                    []string // settings ("path=value")
}

// NewManifest returns the manifest of a run that has not started.
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

// ManifestOf returns the manifest of a scenario under a controller and a seed.
func ManifestOf(s *scenario.Scenario, controller string, seed uint64, by *Program) (*Manifest, error) {
	u, err := scenario.NewSetup(s, controller, seed)
	if err != nil {
		return nil, err
	}
	return NewManifest(u, by), nil
}

// Finish adds the results of the run.
func (m *Manifest) Finish(s *measure.Summary) {
	m.Status = StatusComplete
	if s.Partial {
		m.Status = StatusPartial
	}
	m.Fingerprint = s.Fingerprint
	m.Verdict = s.Verdict.Status
}

// ChosePanels adds the panels that a run chose because its scenario has none. Hash does not cover them, because they
// follow from the run.
func (m *Manifest) ChosePanels(panels []scenario.PanelView) {
	if len(panels) > 0 {
		m.Configuration.Report, m.Configuration.ReportDefault = panels, true
		m.Files[Panels.Name] = Panels.Title
	}
}

// Names of the files that describe a folder's results.
const (
	ManifestFile = "manifest.json"
	SummaryFile  = "summary.json"
)

// Begin writes the manifest of a run that starts, before anything else in the folder changes, so that old files cannot
// be mistaken for its results. If it fails, the folder is unchanged.
func (m *Manifest) Begin(folder *files.Folder) error {
	file, err := replaceJSON(folder, ManifestFile, m)
	m.file = file
	return err
}

// MarkPartial overwrites the status in the manifest that Begin wrote; both words have the same length. If End has
// already replaced that file, it has no effect.
func (m *Manifest) MarkPartial() error {
	before := jsonfile.Start + `"status": "` // it is the first key
	_, err := m.file.WriteAt([]byte(StatusPartial), int64(len(before)))
	return err
}

// Abandon ends a run that could not start.
func (m *Manifest) Abandon(folder *files.Folder) error {
	m.Status = StatusPartial
	return m.End(folder)
}

// End writes the final manifest, after the run's other files. If there is no space for it, End marks the existing one
// as partial.
func (m *Manifest) End(folder *files.Folder) error {
	err := WriteJSON(folder, ManifestFile, m)
	if err != nil {
		err = errors.Join(err, m.MarkPartial())
	}
	return errors.Join(err, m.file.Close())
}

// Decided returns the part of the manifest that decides a run's results, without how they are shown and other
// controllers of the scenario.
func (m *Manifest) Decided() scenario.Resolution {
	own := m.Own()
	c := &own.Configuration
	c.Description, c.Report, c.ReportDefault, c.LookAt, c.Spans, c.Unused, c.Published = "", nil, false, nil, nil, nil, nil
	return own
}

// Repeats reports whether both runs must have equal results: they have ended, with the same configuration, seed and
// program version.
func (m *Manifest) Repeats(other *Manifest) bool {
	return m.Status == StatusComplete && other.Status == StatusComplete && m.Version == other.Version && m.SameAs(other)
}

// SameAs reports whether two runs have equal results, apart from differences between programs.
func (m *Manifest) SameAs(other *Manifest) bool {
	text := func(m *Manifest) []byte {
		// only texts and numbers, so it cannot fail
		data, _ := json.Marshal([]any{m.Scenario, m.Controller, m.CC, m.Seed, m.Decided()})
		return data
	}
	return m.Hash == other.Hash || bytes.Equal(text(m), text(other))
}
