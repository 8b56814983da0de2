package experiments

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"

	"github.com/pausenet/pausenet/internal/files"
)

// Statuses of a run in its manifest.
const (
	statusRunning  = "running"
	statusPartial  = "partial"
	statusComplete = "complete"
)

// manifest is manifest.json: the full resolved configuration of a run, enough to repeat it.
type manifest struct {
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
	Kernel   string   `json:"kernel"`
	Hooks    string   `json:"hooks,omitempty"` // tcx or clsact; empty on the wasm plane
	Go       string   `json:"go"`
	Machine  string   `json:"machine"`

	resolution
	Fingerprint string            `json:"fingerprint,omitempty"`
	Verdict     Status            `json:"verdict,omitempty"`
	Files       map[string]string `json:"files"`

	file *os.File // as begin has written it
	at   int64    // of the status in it
}

// Program is what is to make a run, and what its user has said.
type Program struct {
	Version, Build, Command string
	Sets                    []string // settings ("path=value")
}

// describe is a manifest as far as it says what is to run.
func describe(u *Setup, by *Program) *manifest {
	s := u.Scenario
	m := &manifest{
		Scenario: s.Name, Controller: u.Name, Fabric: s.Topology.Summary(), CC: u.CC.Name, Seed: u.Seed, Version: by.Version, Build: by.Build,
		Command: by.Command, Settings: append([]string{}, by.Sets...), resolution: u.resolution(),
	}
	m.Hash = u.hash(&m.resolution)
	return m
}

func (m *manifest) finish(s *Summary) {
	m.Status = statusComplete
	if s.Partial {
		m.Status = statusPartial
	}
	m.Fingerprint = s.Fingerprint
	m.Verdict = s.Verdict.Status
}

// Names of the files that say what a folder's results are.
const (
	manifestName = "manifest.json"
	summaryName  = "summary.json"
)

// begin writes the manifest of a run that begins, before anything else in the folder changes: from then on nobody takes what is
// there for an earlier run's results. If it cannot be written, all is as it was.
func (m *manifest) begin(folder *files.Folder) error {
	data, err := formatJSON(manifestName, m)
	if err == nil {
		m.file, err = folder.Replace(manifestName, data)
	}
	before := []byte(`"status": "`)
	m.at = int64(bytes.Index(data, append(before, statusRunning...)) + len(before))
	return err
}

// markPartial marks the manifest that begin has written, in its place: the words are equally long. If end has written another, the
// one that is marked is nobody's.
func (m *manifest) markPartial() error {
	_, err := m.file.WriteAt([]byte(statusPartial), m.at)
	return err
}

// abandon ends a run that could not begin.
func (m *manifest) abandon(folder *files.Folder) error {
	m.Status = statusPartial
	return m.end(folder)
}

// end writes the manifest of a run whose other files are written. If there is no room for it, the one that stands is marked.
func (m *manifest) end(folder *files.Folder) error {
	err := writeJSON(folder, manifestName, m)
	if err != nil {
		err = errors.Join(err, m.markPartial())
	}
	return errors.Join(err, m.file.Close())
}

// decided is what decides what a run comes to, and not how that is shown or what else the scenario has.
func (m *manifest) decided() resolution {
	own := m.own()
	c := &own.Configuration
	c.Description, c.Report, c.LookAt, c.Spans, c.Unused, c.Published = "", nil, nil, nil, nil, nil
	return own
}

// sameAs says that two runs come to the same, but for the program that runs them.
func (m *manifest) sameAs(other *manifest) bool {
	text := func(m *manifest) []byte {
		data, _ := json.Marshal([]any{m.Scenario, m.Controller, m.CC, m.Seed, m.decided()}) // of texts and numbers
		return data
	}
	return m.Hash == other.Hash || bytes.Equal(text(m), text(other))
}
