package runner

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/pausenet/pausenet/experiments/rundir"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/orchestrator/engine"
)

// nameParquet has the manifest name the Parquet files that are there.
func nameParquet(m *rundir.Manifest, folder *files.Folder) {
	for _, table := range rundir.Tables() {
		name := rundir.ParquetName(table)
		if _, err := os.Lstat(filepath.Join(folder.Path(), name)); err == nil {
			m.Files[name] = table + " in Parquet"
		}
	}
}

func newManifest(r *runner) *rundir.Manifest {
	o := &r.options
	m := rundir.NewManifest(r.Setup, &rundir.Program{Version: o.Version, Build: o.Build, Command: o.Command, Sets: o.Sets})
	m.Status, m.Plane, m.Go = rundir.StatusRunning, r.plane.Name(), runtime.Version()
	if plane, ok := r.plane.(interface{ Hooks() string }); ok { // its programs hang on hooks of the kernel
		m.Hooks = plane.Hooks()
	}
	if !o.Anywhere {
		m.Machine = runtime.GOARCH
	}
	if !o.Anywhere || r.plane.Name() == engine.PlaneKernel { // whose eBPF that kernel has run
		m.Kernel = machine.Release()
	}
	m.Files = map[string]string{
		"flows.csv": "flows", "ports.csv": "queues over time", "pfc.csv": "PFC frames", "rates.csv": "rates over time",
		"links.csv": "links, each way", "events.csv": "faults, PFC storms and deadlocks", rundir.SummaryFile: "the run in numbers",
	}
	if r.options.Export == ExportHPCC {
		m.Files[rundir.HPCCFlowsFile], m.Files[rundir.HPCCPausesFile] = "flows, as HPCC's simulator writes them", "PFC frames, likewise"
	}
	if r.Scenario.Host.Recovery == hostagent.SelectiveRepeat {
		m.Files[rundir.RecoveryFile] = "what selective repeat met, by flow"
	}
	if r.options.Record {
		m.Files[rundir.RecordFile] = "all ports over time, for pausenet view"
	}
	if len(r.Scenario.Panels) > 0 {
		m.Files["panels.csv"] = "the report's plots over time"
	}
	for i := range r.Scenario.Workloads {
		if g := r.Scenario.Workloads[i].Graph; g != nil && len(g.Collectives) > 0 {
			m.Files[rundir.CollectivesFile] = "collective operations"
		}
	}
	return m
}
