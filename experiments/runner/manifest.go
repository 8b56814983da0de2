package runner

import (
	"maps"
	"runtime"

	"github.com/pausenet/pausenet/experiments/results/rundir"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/internal/machine"
	"github.com/pausenet/pausenet/internal/table"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
)

// nameFiles adds the observers' files to the manifest.
func (r *runner) nameFiles(m *rundir.Manifest) {
	for _, o := range r.observers {
		maps.Copy(m.Files, o.Files)
	}
}

// newManifest returns the manifest of a run that starts.
func newManifest(r *runner) *rundir.Manifest {
	o := &r.options
	m := rundir.NewManifest(r.Setup, &rundir.Program{Version: o.Version, Build: o.Build, Command: o.Command, Sets: o.Sets})
	m.Status, m.Plane, m.Go = rundir.StatusRunning, r.plane.Name(), runtime.Version()
	if plane, ok := r.plane.(interface{ Hooks() string }); ok { // the plane attaches its programs to hooks of the kernel
		m.Hooks = plane.Hooks()
	}
	if !o.Anywhere { // Anywhere: runs on different machines must have equal files
		m.Machine = runtime.GOARCH
	}
	if !o.Anywhere || r.plane.Name() == plane.Kernel { // the kernel plane runs its eBPF in this kernel
		m.Kernel = machine.Release()
	}
	m.Files = map[string]string{rundir.SummaryFile: "the run in numbers"}
	name := func(t *table.Schema) { m.Files[t.Name] = t.Title }
	for _, t := range []*table.Schema{
		&rundir.Flows.Schema, &rundir.Ports.Schema, &rundir.PFC.Schema, &rundir.Rates.Schema, &rundir.Links.Schema,
		&rundir.Events.Schema,
	} {
		name(t)
	}
	if r.options.Export == ExportHPCC {
		m.Files[rundir.HPCCFlowsFile], m.Files[rundir.HPCCPausesFile] = "flows, as HPCC's simulator writes them",
			"PFC frames, as HPCC's simulator writes them"
	}
	if r.Scenario.Host.Recovery == hostagent.SelectiveRepeat {
		name(&rundir.Recovery.Schema)
	}
	if len(r.Scenario.Panels) > 0 {
		name(&rundir.Panels.Schema)
	}
	for i := range r.Scenario.Workloads {
		if g := r.Scenario.Workloads[i].Graph; g != nil && len(g.Collectives) > 0 {
			name(&rundir.Collectives.Schema)
		}
	}
	r.nameFiles(m)
	return m
}
