package live

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/pausenet/pausenet/controllerfile"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/experiments/scenario/lint"
	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/switchagent"
	"github.com/pausenet/pausenet/topologies"
)

// Setup holds a scenario, without its flows, under one congestion controller or variant: the input of BringUp.
type Setup struct {
	Scenario *scenario.Scenario
	Name     string // of the congestion control or variant
	spec     *cc.Spec

	mutex   sync.Mutex
	catalog cc.Catalog // the scenario's controllers, and those of flows from files
	// notifying holds the settings of hosts that send CNPs although the fabric's controller needs none; nil until a
	// flow needs them.
	notifying *hostagent.Settings
	// others holds the settings of hosts that send data in another priority than the fabric's flows, by priority;
	// nil until a program needs them.
	others [8]*hostagent.Settings
}

// NewSetup returns a scenario, read with Reading.Setup, under the named controller, or the scenario's first.
func NewSetup(s *scenario.Scenario, controller string) (*Setup, error) {
	controller = cmp.Or(controller, s.Controllers[0])
	own, name, spec, err := s.Under(controller)
	if err != nil {
		return nil, err
	}
	if err := scenario.Fits(own, spec); err != nil {
		return nil, err
	}
	return &Setup{Scenario: own, Name: name, spec: spec, catalog: own.Catalog}, nil
}

// learn reads the controller in the file that a name refers to, relative to the working directory. It replaces an
// earlier version of the file.
func (l *Setup) learn(name string) error {
	if !controllerfile.Is(name) {
		return nil
	}
	spec, err := controllerfile.Read(name)
	if err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.catalog, err = l.catalog.Put(spec)
	return err
}

// known returns the catalog of controllers.
func (l *Setup) known() cc.Catalog {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.catalog
}

// Fabric returns the options for building the fabric.
func (l *Setup) Fabric() kernel.FabricOptions {
	return kernel.FabricOptions{Features: l.features()}
}

// features returns the features of a fabric whose routes may change, and whose hosts run programs.
func (l *Setup) features() plane.Features {
	features := scenario.Features(l.Scenario.Topology, l.spec.Needs)
	features.Reroute, features.Live = true, true
	return features
}

// Engine returns the engine's configuration, without plane and observer.
func (l *Setup) Engine(seed uint64) engine.Config {
	return engine.Config{
		Plan: l.Scenario.Topology, Switches: l.Switches(), Hosts: scenario.HostSettings(l.Scenario, l.hostNeeds()),
		Features: l.features(), Seed: seed,
	}
}

func (l *Setup) hostNeeds() cc.SwitchNeeds {
	hosts := l.spec.Needs
	hosts.ACK = true // some flow's control may work by ACKs
	hosts.Grants = carriesDemands(hosts)
	return hosts
}

// Warnings returns likely mistakes in the valid settings of the fabric, or of the switches with the given indexes.
func (l *Setup) Warnings(switches ...int) []string {
	return lint.LiveWarnings(l.Scenario, l.spec, switches...)
}

// Switches returns the switches' settings, by index.
func (l *Setup) Switches() []*switchagent.Settings {
	return scenario.SwitchSettings(l.Scenario, l.spec.Needs)
}

// Controllers returns the controllers that flows may use on these switches, the fabric's own first.
func (l *Setup) Controllers() []string {
	names := []string{l.spec.Name}
	known := l.known()
	for _, name := range known.Names() {
		if spec, err := known.Lookup(name); err == nil && name != l.spec.Name && suits(spec.Needs, l.spec.Needs) {
			names = append(names, name)
		}
	}
	return names
}

// suits reports whether a controller with some needs can work on switches configured for another's.
func suits(needs, are cc.SwitchNeeds) bool {
	return (!needs.ECN || are.ECN) && needs.ECNStep == are.ECNStep && (!needs.CNM || are.CNM) && (!needs.INT || are.INT) &&
		needs.TCD == are.TCD && needs.PCN == are.PCN && (!needs.Grants || carriesDemands(are))
}

// carriesDemands reports whether data packets have room for a demand: they carry neither telemetry nor a timestamp.
func carriesDemands(n cc.SwitchNeeds) bool { return !n.INT && !n.Timestamps }

// hostsOf returns the settings of hosts with flows under a controller that needs CNPs, if the fabric's own does not;
// otherwise nil.
func (l *Setup) hostsOf(spec *cc.Spec) *hostagent.Settings {
	if !spec.Needs.CNP || l.spec.Needs.CNP || l.spec.Needs.PCN {
		return nil
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.notifying == nil {
		needs := l.hostNeeds()
		needs.CNP = true
		l.notifying = scenario.HostSettings(l.Scenario, needs)
	}
	return l.notifying
}

// hostsIn returns the settings of hosts with queue pairs that send in another priority.
func (l *Setup) hostsIn(priority uint8) *hostagent.Settings {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.others[priority&7] == nil {
		settings := scenario.HostSettings(l.Scenario, l.hostNeeds())
		settings.DataPriority = priority
		l.others[priority&7] = settings
	}
	return l.others[priority&7]
}

// Flow returns the engine's configuration of a flow. An empty controller means the fabric's.
func (l *Setup) Flow(f *scenario.Flow, controller string, salt uint64) (engine.FlowConfig, error) {
	if err := f.LiveFits(); err != nil {
		return engine.FlowConfig{}, err
	}
	s := l.Scenario
	spec := l.spec
	controller = cmp.Or(controller, f.Extra().CC)
	if controller != "" {
		own := *s
		own.Catalog = l.known()
		_, named, err := own.Controller(controller)
		if err != nil {
			return engine.FlowConfig{}, err
		}
		if spec = named; spec.Name != l.spec.Name && !slices.Contains(l.Controllers(), spec.Name) {
			if spec.Needs.Grants && !carriesDemands(l.spec.Needs) {
				return engine.FlowConfig{}, fmt.Errorf("%s needs data packets to carry a demand, but on this fabric they carry "+
					"what %s needs (bring it up with --cc %s)", spec.Name, l.spec.Name, spec.Name)
			}
			return engine.FlowConfig{}, fmt.Errorf("%s needs other switches (%v) than this fabric's (%v) (bring "+
				"it up with --cc %s)",
				spec.Name, spec.Needs, l.spec.Needs, spec.Name)
		}
	}
	env := scenario.Environment(s.Topology, f, l.spec.Needs)
	settings, err := s.Resolver().Resolve(spec, spec.Constants(s.ControllerSettings), env)
	if err != nil {
		return engine.FlowConfig{}, err
	}
	first, extra := paths.FirstPorts(salt), f.Extra()
	if s.Topology.Hash == topologies.HashHPCC { // of flows that come one by one
		first = paths.Ports{Source: scenario.HPCCFirstPort + uint16(salt), Destination: scenario.HPCCNormalPort}
	}
	first.Pair = f.Pair
	ports, err := paths.Pin(s.Topology, f.Source, f.Destination, extra.Via, first)
	if err != nil {
		return engine.FlowConfig{}, err
	}
	return engine.FlowConfig{
		Source: f.Source, Destination: f.Destination, Size: int64(f.Size), Start: f.Start, Ports: ports, Entropy: salt,
		Controller: spec.Name, Hosts: l.hostsOf(spec),
		NewController: func(int) (cc.Controller, error) {
			if extra.ConstantRate > 0 {
				return cc.Constant(float64(extra.ConstantRate)), nil
			}
			c, err := spec.New(env, settings)
			if p, ok := c.(cc.Presetter); ok && err == nil && extra.StartRate > 0 {
				p.Preset(f.Start, float64(extra.StartRate))
			}
			return c, err
		},
	}, nil
}
