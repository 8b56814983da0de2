package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/internal/shutdown"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// Options say how a scenario is to be run.
type Options struct {
	Controller string // or a variant of the scenario's
	// Plane is orchestrator.PlaneKernel or PlaneWasm.
	Plane string
	Seed  uint64
	// Directory is where the run's files go; it is made.
	Directory string
	// Within is the part of Directory that the user named: below it, no link is followed that leads out of it. Empty: all of it.
	Within string
	// Export names a simulator whose result files are to be written too (ExportHPCC); empty: none.
	Export string
	// Capture are the ports whose wires are captured into capture.pcapng.
	Capture []topologies.PortID
	// Version is pausenet's, Command the user's, Build tells builds of one version apart; all go into the manifest.
	Version, Command, Build string
	// Sets are the user's settings ("path=value"), for the manifest.
	Sets     []string
	Progress orchestrator.Progress

	begun func() // is called before anything of an earlier run is removed
}

// Result is what one run came to.
type Result struct {
	Scenario   *Scenario
	Controller string
	Summary    Summary
	// Panels are the points of the scenario's panels, one slice of series a panel.
	Panels [][]Points
}

// Points is one series of a panel.
type Points struct {
	Time  []int64 // virtual ns
	Value []float64

	before float64 // running total at the last point
}

// Run runs a scenario under one controller. If ctx is cancelled the run ends early: what was
// measured is written, marked partial, and returned with the context's error. Any other error leaves the files written
// so far.
func Run(ctx context.Context, s *Scenario, o Options) (*Result, error) {
	r, err := newRunner(s, o)
	if err != nil {
		return nil, err
	}
	if r.folder, err = files.OpenFolder(cmp.Or(o.Within, o.Directory), o.Directory); err != nil {
		return nil, fmt.Errorf("make the results' folder: %w", err)
	}
	defer r.folder.Close()
	plane, err := r.openPlane()
	if err != nil {
		return nil, err
	}
	result, err := r.run(ctx, plane)
	defer shutdown.Wait()() // for the kernel, which takes a fabric down
	return result, errors.Join(environmental(err), plane.Close())
}

// newRunner is a run whose settings have been checked.
func newRunner(s *Scenario, o Options) (*runner, error) {
	own, name, spec, err := s.under(o.Controller)
	if err != nil {
		return nil, err
	}
	if own, err = own.WithSeed(o.Seed); err != nil {
		return nil, err
	}
	r := &runner{scenario: own, options: o, name: name, spec: spec, environments: map[cc.Env]cc.Settings{}}
	return r, r.resolveControllers()
}

func (r *runner) openPlane() (orchestrator.Plane, error) {
	needs := r.spec.Needs
	plane, err := orchestrator.OpenPlane(r.options.Plane, r.scenario.Topology,
		orchestrator.FabricOptions{Flows: needs.CNM, Telemetry: needs.INT, Reroute: r.scenario.reroutes()})
	if err != nil {
		return nil, &EnvironmentError{err}
	}
	return plane, nil
}

// EnvironmentError says that this machine cannot run the fabric.
type EnvironmentError struct{ Err error }

func (e *EnvironmentError) Error() string { return e.Err.Error() }
func (e *EnvironmentError) Unwrap() error { return e.Err }

// environmental marks the error of a run that the machine ended as EnvironmentError.
func environmental(err error) error {
	var machine *orchestrator.MachineError
	if errors.As(err, &machine) {
		return &EnvironmentError{err}
	}
	return err
}

// runner is one run.
type runner struct {
	scenario     *Scenario // as the controller or variant meets it
	options      Options
	folder       *files.Folder // Directory, opened
	name         string        // of the controller or variant
	spec         *cc.Spec
	environments map[cc.Env]cc.Settings
	flows        []flowSettings

	plane    orchestrator.Plane
	engine   *orchestrator.Engine
	recorder *recorder
	watching *Watching    // nil: nobody does
	records  []FlowRecord // of the flows, once the run has ended
	linkRows []Link       // likewise
	stopped  []int        // likewise, the flows that can never end
}

// flowSettings are what a flow's controller is built from.
type flowSettings struct {
	env      cc.Env
	settings cc.Settings
	ports    orchestrator.Ports
}

// resolveControllers finds every mistake in the controller's constants before anything is built.
func (r *runner) resolveControllers() error {
	s := r.scenario
	if err := fits(s, r.spec); err != nil {
		return err
	}
	r.flows = make([]flowSettings, len(s.Flows))
	portsOf := s.portsOf(r.options.Seed)
	for i := range s.Flows {
		f := &s.Flows[i]
		env := Environment(s.Topology, f, r.spec.Needs)
		settings, known := r.environments[env]
		if !known {
			var err error
			if settings, err = resolver.Resolve(r.spec.Name, r.spec.Constants(s.ControllerSettings), env); err != nil {
				return err
			}
			if _, err := r.spec.New(env, settings); err != nil {
				return fmt.Errorf("%s: %w", r.spec.Name, err)
			}
			r.environments[env] = settings
		}
		ports, err := portsOf(i)
		if err != nil {
			return err
		}
		r.flows[i] = flowSettings{env: env, settings: settings, ports: ports}
	}
	return nil
}

// telemetryFits refuses a topology with a link that the telemetry of the controller cannot speak of.
func telemetryFits(plan *topologies.Plan, spec *cc.Spec) error {
	if !spec.Needs.INT {
		return nil
	}
	for i := range plan.Ports {
		p := &plan.Ports[i]
		if _, ok := wire.INTRateCode(p.Rate); !ok && plan.Nodes[p.Node].Kind == topologies.Switch {
			return fmt.Errorf("%s %s: %s is a link of %v", spec.Name, telemetryCodes, PortLabel(plan, p.ID), p.Rate)
		}
	}
	return nil
}

const telemetryCodes = "reads links' rates from in-band telemetry, which has codes for Ethernet's only (" + wire.INTRates + ")"

// faultsFit refuses what the faults would do that the controller, or the variant's switches, cannot have.
func faultsFit(s *Scenario, spec *cc.Spec) error {
	for i := range s.Faults {
		f := &s.Faults[i]
		if _, ok := wire.INTRateCode(f.Rate); f.Kind == FaultRate && spec.Needs.INT && !ok {
			return fmt.Errorf("%s %s: a fault changes a link to %v", spec.Name, telemetryCodes, f.Rate)
		}
		if f.Kind == FaultPause && s.Switch.FlowControl == switchagent.FlowCBFC {
			return errors.New("a fault has a host send PAUSE: there is none under flow_control cbfc")
		}
	}
	return nil
}

func (r *runner) run(ctx context.Context, plane orchestrator.Plane) (*Result, error) {
	s := r.scenario
	r.build(plane)
	m := newManifest(r, plane)
	if err := m.begin(r.folder); err != nil {
		return nil, fmt.Errorf("create the results: %w", err)
	}
	defer shutdown.Finally(func() { _ = m.markPartial() })()
	if r.options.begun != nil {
		r.options.begun()
	}
	out, err := createOutput(r.folder)
	if err != nil {
		return nil, errors.Join(err, m.abandon(r.folder))
	}
	r.recorder.start(r.engine, out)
	if r.options.Export == ExportHPCC {
		r.recorder.hpcc = &hpccTrace{}
	}
	captured, err := startCapture(r, plane)
	if err != nil {
		return nil, errors.Join(err, captured.Close(), out.Close(), m.abandon(r.folder))
	}
	start := time.Now()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	r.recorder.stop = stop
	runErr := r.engine.Run(ctx, s.Duration, s.drainTime(), r.options.Progress)
	wall := time.Since(start)
	if r.recorder.err != nil {
		runErr = fmt.Errorf("write the results: %w", r.recorder.err)
	}
	shutdown.Alive()
	result := r.conclude(wall, runErr)
	writeErr := errors.Join(
		captured.Close(),
		writeFlows(r.folder, s, r.records),
		out.writeLinks(r.linkRows),
		out.writePanels(result.Panels),
		out.Close(),
		r.export(),
		writeJSON(r.folder, summaryName, &result.Summary),
	)
	m.finish(&result.Summary)
	if writeErr != nil {
		m.Status = statusPartial
	}
	if writeErr = errors.Join(writeErr, m.end(r.folder)); writeErr != nil {
		writeErr = fmt.Errorf("write the results: %w", writeErr)
	}
	return result, errors.Join(runErr, writeErr)
}

// build makes the engine with the scenario's flows.
func (r *runner) build(plane orchestrator.Plane) {
	s := r.scenario
	r.plane = plane
	r.recorder = newRecorder(s)
	r.engine = orchestrator.NewEngine(orchestrator.EngineConfig{
		Plan: s.Topology, Plane: plane, Switches: SwitchSettings(s, r.spec.Needs), Hosts: HostSettings(s, r.spec.Needs),
		BurstDetection: r.spec.Needs.CNM, Telemetry: r.spec.Needs.INT, Seed: r.options.Seed, Observer: r.recorder,
	})
	r.addFlows()
	ScheduleFaults(r.engine, s, 0)
}

func (r *runner) addFlows() {
	for i := range r.scenario.Flows {
		f, set := &r.scenario.Flows[i], &r.flows[i]
		if r.watching != nil && r.watching.Sample != nil {
			r.recorder.rtt.flows[i].tell = func(now, rtt vtime.Time) { r.watching.Sample(i, now, rtt) }
		}
		r.engine.AddFlow(orchestrator.FlowConfig{
			Source: f.Source, Destination: f.Destination, Size: int64(f.Size), Start: f.Start,
			Ports: set.ports, RTT: &r.recorder.rtt.flows[i], Controller: r.name,
			NewController: func() (cc.Controller, error) { return r.controller(i, set) },
		})
	}
}

func (r *runner) controller(flow int, set *flowSettings) (cc.Controller, error) {
	f := &r.scenario.Flows[flow]
	if f.ConstantRate > 0 {
		return cc.Constant(float64(f.ConstantRate)), nil
	}
	build := r.spec.New
	if r.watching != nil && r.watching.Controller != nil {
		build = func(env cc.Env, set cc.Settings) (cc.Controller, error) { return r.watching.Controller(flow, env, set) }
	}
	c, err := build(set.env, set.settings)
	if err != nil {
		return nil, err
	}
	if p, ok := c.(cc.Presetter); ok && f.StartRate > 0 {
		p.Preset(f.Start, float64(f.StartRate))
	}
	return c, nil
}

// Environment is what a controller that needs this of switches may know of its flow's path.
func Environment(plan *topologies.Plan, f *Flow, needs cc.SwitchNeeds) cc.Env {
	op, ack := wire.OpWriteMiddle, wire.AckLen
	switch {
	case needs.INT:
		op, ack = op.WithINT(), wire.AckINTLen
	case needs.Timestamps:
		op, ack = op.WithTimestamp(), wire.AckTimestampLen
	}
	data := wire.DataLen(op, plan.MTU)
	return cc.Env{
		LineRate: plan.Ports[plan.Nodes[f.Source].Ports[0]].Rate,
		BaseRTT:  plan.BaseRTT(f.Source, f.Destination, data, ack),
		MTU:      plan.MTU,
		LineMTU:  plan.Framing.LineBytes(data),
	}
}

// HostSettings are the hosts' settings: the scenario's, and what the controller needs of hosts. Where switches mark
// undetermined packets, hosts know it, whatever the controller makes of it.
func HostSettings(s *Scenario, needs cc.SwitchNeeds) *hostagent.Settings {
	own := s.Host
	if own.CoalesceACKs > 0 && !needs.ACK {
		own.AckEvery = own.CoalesceACKs
	}
	own.ACKsWhenPaused = own.ACKsWhenPaused && s.Switch.FlowControl == switchagent.FlowPFC // without credits nothing may be sent
	own.Timestamps = needs.Timestamps
	own.INT, own.Ternary = needs.INT, needs.TCD || s.Switch.Detector == switchagent.DetectorTCD && !needs.PCN
	switch {
	case needs.PCN:
		own.Notify = hostagent.NotifyPCN
	case !needs.CNP:
		own.Notify = hostagent.NotifyNone
	}
	return &own
}

// SwitchSettings are the switches' settings, by index: the scenario's, with a switch's own buffer, and without marking
// that the controller does not listen to. A detector that the scenario asks for works under every controller, to be
// looked at, but for one that comes with its own.
func SwitchSettings(s *Scenario, needs cc.SwitchNeeds) []*switchagent.Settings {
	settings := everySwitch(s.Topology, &s.Switch)
	for i, id := range s.Topology.Switch {
		own := settings[i]
		if needs.TCD && own.Detector != switchagent.DetectorTCD {
			// As TCD's authors have it: where the threshold detector would draw by RED, so does this one.
			own.Detector, own.TCD.RED = switchagent.DetectorTCD, own.ECN.Mode == switchagent.ECNRED
		}
		switch {
		case needs.PCN && own.ECN.Mode != switchagent.ECNOff:
			own.ECN.Mode, own.Detector = switchagent.ECNPCN, switchagent.DetectorThreshold
		case !needs.ECN:
			own.ECN.Mode = switchagent.ECNOff
		case needs.CNM && own.ECN.Mode == switchagent.ECNRED && !own.CNM.RED:
			own.ECN.Mode = switchagent.ECNStep
			own.ECN.KMax = own.CNM.QECN
			own.ECN.KMin = own.ECN.KMax
		case needs.ECNStep && own.ECN.Mode == switchagent.ECNRED:
			own.ECN.Mode = switchagent.ECNStep
			if own.ECN.KMin == switchagent.Auto && own.ECN.KMax == switchagent.Auto {
				own.ECN.PerRate = 10 * units.Gbps // of each port, as auto is
			}
			own.ECN.KMax = stepThreshold(s.Topology, id, own.ECN.PerRate)
			own.ECN.KMin = own.ECN.KMax
		}
	}
	return settings
}

// stepThreshold is DCTCP's K in a scenario that does not ask for a step: 30 KB for each 10 Gb/s of the port (HPCC simulator,
// run.py), which is the switch's slowest unless thresholds go by each port's rate anyway: then it is one of rate per.
func stepThreshold(plan *topologies.Plan, node topologies.NodeID, per units.Rate) units.Bytes {
	if per == 0 {
		per = plan.Ports[plan.Nodes[node].Ports[0]].Rate
		for _, p := range plan.Nodes[node].Ports {
			per = min(per, plan.Ports[p].Rate)
		}
	}
	return units.Bytes(int64(per) / int64(10*units.Gbps/(30*1000)))
}

// conclude closes the books of a run that has ended, or was ended by runErr.
func (r *runner) conclude(wall time.Duration, runErr error) *Result {
	result := &Result{Scenario: r.scenario, Controller: r.name, Panels: r.recorder.panels()}
	r.stopped = r.engine.StoppedFlows()
	result.Summary = r.summarise(wall)
	shutdown.Alive()
	result.Summary.Verdict = r.verdict(&result.Summary, runErr)
	result.Summary.Partial = runErr != nil
	result.Summary.takeFigures(r.scenario.Published, r.records, r.engine.Now())
	result.Summary.takeClaims(r.scenario.Published)
	return result
}
