package experiments

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"runtime"

	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/topologies"
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

// resolution is what a scenario comes to under a controller and a seed.
type resolution struct {
	// Configuration is the scenario with every default filled in and every setting of the user's applied.
	Configuration View        `json:"configuration"`
	Constants     []constants `json:"controller_constants"`
	Paths         []flowPath  `json:"paths"` // by flow, of those that the scenario lists
}

// constants are a controller's for the flows whose paths are alike.
type constants struct {
	LineRateBPS int64             `json:"line_rate_bps"`
	BaseRTTPS   int64             `json:"base_rtt_ps"`
	Values      map[string]string `json:"values"`
}

// flowPath is the way a flow takes, and the UDP source port that makes ECMP choose it.
type flowPath struct {
	Port uint16   `json:"udp_source_port"`
	Path []string `json:"path"`
}

// describe is a manifest as far as it says what is to run.
func describe(r *runner) *manifest {
	s, o := r.scenario, &r.options
	m := &manifest{
		Scenario: s.Name, Controller: r.name, Fabric: s.Topology.Summary(), CC: r.spec.Name, Seed: o.Seed, Version: o.Version, Build: o.Build,
		Command: o.Command, Settings: append([]string{}, o.Sets...), resolution: r.resolution(),
	}
	m.Hash = r.hash(&m.resolution)
	return m
}

func newManifest(r *runner, plane orchestrator.Plane) *manifest {
	m := describe(r)
	m.Status, m.Plane, m.Kernel, m.Hooks = statusRunning, plane.Name(), kernelRelease(), orchestrator.HooksOf(plane)
	m.Go, m.Machine = runtime.Version(), runtime.GOARCH
	m.Files = map[string]string{
		"flows.csv": "flows", "ports.csv": "queues over time", "pfc.csv": "PFC frames", "rates.csv": "rates over time",
		"links.csv": "links, each way", "events.csv": "faults, PFC storms and deadlocks", summaryName: "the run in numbers",
	}
	if r.options.Export == ExportHPCC {
		m.Files[hpccFCTFile], m.Files[hpccPFCFile] = "flows, as HPCC's simulator writes them", "PFC frames, likewise"
	}
	if len(r.scenario.Panels) > 0 {
		m.Files["panels.csv"] = "the report's plots over time"
	}
	return m
}

// resolution is the run's. It comes after resolveControllers.
func (r *runner) resolution() resolution {
	s := r.scenario
	m := resolution{Configuration: s.View()}
	r.references(&m.Configuration)
	// In the order of the flows that need them first, so that equal runs have equal manifests.
	seen := map[any]bool{}
	for i := range s.Flows {
		f, set := &s.Flows[i], &r.flows[i]
		if !seen[set.env] {
			seen[set.env] = true
			m.Constants = append(m.Constants, constants{
				LineRateBPS: int64(set.env.LineRate), BaseRTTPS: int64(set.env.BaseRTT), Values: set.settings.Map(),
			})
		}
		if i >= len(s.Listed()) {
			continue
		}
		m.Paths = append(m.Paths, flowPath{
			Port: set.ports.Source,
			Path: pathNames(s.Topology, orchestrator.Path(s.Topology, f.Source, f.Destination, set.ports)),
		})
	}
	return m
}

// hash sums up everything that decides what the run comes to, but for the program that runs it. Which other controllers
// the scenario has, under which constants, decides nothing: the run's own are among what they resolved to.
func (r *runner) hash(m *resolution) string {
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode([]any{r.scenario.Name, r.name, r.spec.Name, r.options.Seed, m.own()}) // of texts and numbers
	return hex.EncodeToString(sum.Sum(nil))
}

// own is the resolution without the scenario's other controllers.
func (m *resolution) own() resolution {
	own := *m
	own.Configuration.Controllers, own.Configuration.Variants, own.Configuration.Constants = nil, nil, nil
	return own
}

// ConfigurationHash is equal for two runs of one program that come to the same: their scenario, with all defaults and
// settings, controller, constants, paths and seed are equal. It is in the manifest of a run.
func ConfigurationHash(s *Scenario, controller string, seed uint64) (string, error) {
	r, err := newRunner(s, Options{Controller: controller, Seed: seed})
	if err != nil {
		return "", err
	}
	m := r.resolution()
	return r.hash(&m), nil
}

// pathNames are the nodes along a path, source and destination included.
func pathNames(plan *topologies.Plan, path []topologies.PortID) []string {
	names := make([]string, 0, len(path)+1)
	for _, p := range path {
		names = append(names, plan.Nodes[plan.Ports[p].Node].Name)
	}
	return append(names, plan.PeerNode(path[len(path)-1]).Name)
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
