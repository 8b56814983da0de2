package scenario

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/hostagent"
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/files"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
)

// Setup represents a scenario resolved for one congestion control and one seed. It holds everything that decides the
// results of a run.
type Setup struct {
	Scenario *Scenario // with the variant's settings and the flows drawn with Seed
	Name     string    // of the congestion control or variant
	CC       *cc.Spec
	Needs    cc.SwitchNeeds // what the congestion controls of all flows need of switches
	Seed     uint64
	Flows    []FlowSetup // by entry in Scenario.Flows
	// QPs holds the second and further QPs of flows with several. The engine numbers them after the flows.
	QPs  []QPSetup
	more map[int32][]int32 // the engine's numbers of QPs, by flow
}

// QPSetup describes one QP of a flow.
type QPSetup struct {
	Flow  int32
	Size  units.Bytes // 0: unbounded
	Ports paths.Ports
}

// Flow returns the flow to which an engine flow belongs. An engine flow is a flow or one of its further QPs.
func (u *Setup) Flow(number int) int {
	if of := number - len(u.Flows); of >= 0 && len(u.QPs) > 0 {
		return int(u.QPs[of].Flow)
	}
	return number
}

// More returns the engine's numbers of the further QPs of each flow with several. The first QP has the flow's number.
func (u *Setup) More() map[int32][]int32 { return u.more }

// FirstSize returns the bytes that a flow's first QP sends; 0: unbounded.
func (u *Setup) FirstSize(flow int) units.Bytes {
	f := &u.Scenario.Flows[u.Scenario.Entry(flow)]
	if u.more[int32(flow)] == nil {
		return f.Size
	}
	own := f.own()
	return own.QPs.Split(f.Size, u.Scenario.Topology.MTU)[0]
}

// FlowSetup holds the inputs of a flow's controller and path.
type FlowSetup struct {
	*ControllerSetup // shared by flows with equal paths
	Ports            paths.Ports
}

// ControllerSetup holds the inputs of a flow's controller, and its requirements of hosts.
type ControllerSetup struct {
	CC       *cc.Spec
	Hosts    *hostagent.Settings // settings for the flow's two ends; nil: the settings of all hosts
	Traits   *hostagent.Traits   // nil: none
	Env      cc.Env
	Settings cc.Settings
}

// NewSetup resolves a scenario for a congestion control or variant and a seed. Its error is the first mistake that only
// this combination shows.
func NewSetup(s *Scenario, controller string, seed uint64) (*Setup, error) {
	own, name, spec, err := s.Under(controller)
	if err != nil {
		return nil, err
	}
	if own, err = own.WithSeed(seed); err != nil {
		return nil, err
	}
	u := &Setup{Scenario: own, Name: name, CC: spec, Seed: seed}
	return u, u.resolveFlows()
}

// resolveFlows resolves the flows' constants and ports.
func (u *Setup) resolveFlows() error {
	s := u.Scenario
	all, err := s.flowControllers(u.CC)
	if err != nil {
		return err
	}
	for _, spec := range all.specs {
		if err := Fits(s, spec); err != nil {
			return err
		}
	}
	u.Needs = all.needs
	u.Flows = make([]FlowSetup, len(s.Flows))
	type kind struct {
		cc.Env
		Own
	}
	resolved := map[kind]*ControllerSetup{}
	portsOf := s.QPPortsOf(u.Seed)
	for i := range s.Flows {
		f := &s.Flows[i]
		own := f.own()
		spec := all.of(own.CC)
		k := kind{Environment(s.Topology, f, spec.Needs), own}
		alike := resolved[k]
		if alike == nil {
			settings, err := s.Resolver().Resolve(spec, spec.Constants(s.ControllerSettings), k.Env)
			if err != nil {
				return err
			}
			if _, err := spec.New(k.Env, settings); err != nil {
				return fmt.Errorf("%s: %w", spec.Name, err)
			}
			alike = &ControllerSetup{CC: spec, Hosts: all.hosts(&own), Env: k.Env, Settings: settings}
			if own.Traits != (hostagent.Traits{}) {
				alike.Traits = &k.Traits
			}
			resolved[k] = alike
		}
		ports, err := portsOf(i, 0)
		if err != nil {
			return err
		}
		u.Flows[i] = FlowSetup{alike, ports}
		if own.QPs.Count > 1 {
			if err := u.addQPs(i, portsOf); err != nil {
				return err
			}
		}
	}
	return nil
}

// addQPs adds the QPs of a flow, except the first.
func (u *Setup) addQPs(flow int, portsOf func(flow, qp int) (paths.Ports, error)) error {
	s := u.Scenario
	if s.Topology.Hash == topologies.HashHPCC {
		return fmt.Errorf("flow %d (%s) has several QPs, which HPCC's simulator does not support: remove qps or routing.hash",
			flow, s.Flows[flow].Tag)
	}
	own := s.Flows[flow].own()
	for k, size := range own.QPs.Split(s.Flows[flow].Size, s.Topology.MTU) {
		if k == 0 {
			continue
		}
		if n := len(s.Flows) + len(u.QPs); n >= s.mostFlows() {
			return fmt.Errorf("with all QPs: %s", s.tooMany(float64(n+1), FlowMemory))
		}
		ports, err := portsOf(flow, k)
		if err != nil {
			return err
		}
		if u.more == nil {
			u.more = map[int32][]int32{}
		}
		u.more[int32(flow)] = append(u.more[int32(flow)], int32(len(s.Flows)+len(u.QPs)))
		u.QPs = append(u.QPs, QPSetup{int32(flow), size, ports})
	}
	return nil
}

// Of returns the setup of the flow with a number.
func (u *Setup) Of(flow int) *FlowSetup { return &u.Flows[u.Scenario.Entry(flow)] }

// NewController creates the controller of an engine flow.
func (u *Setup) NewController(number int) (cc.Controller, error) {
	flow := u.Flow(number)
	return u.NewControllerBy(flow, u.Of(flow).CC.New)
}

// NewControllerBy creates the controller of a flow's QP, with build in place of the congestion control's own
// constructor. Each QP gets an equal part of the flow's rates.
func (u *Setup) NewControllerBy(
	flow int, build func(cc.Env, cc.Settings) (cc.Controller, error),
) (cc.Controller, error) {
	entry := u.Scenario.Entry(flow)
	f, set := &u.Scenario.Flows[entry], &u.Flows[entry]
	extra, qps := f.Extra(), float64(1+len(u.more[int32(flow)]))
	if extra.ConstantRate > 0 {
		return cc.Constant(float64(extra.ConstantRate) / qps), nil
	}
	c, err := build(set.Env, set.Settings)
	if err != nil {
		return nil, err
	}
	if p, ok := c.(cc.Presetter); ok && extra.StartRate > 0 {
		p.Preset(f.Start, float64(extra.StartRate)/qps)
	}
	return c, nil
}

// Hosts returns the settings of all hosts, without the overrides of flows.
func (u *Setup) Hosts() *hostagent.Settings {
	hosts := HostSettings(u.Scenario, u.CC.Needs)
	hosts.Ternary = Ternary(u.Scenario, u.Needs)
	return hosts
}

// Features returns the features that the run's plane and engine must have.
func (u *Setup) Features() plane.Features {
	features := Features(u.Scenario.Topology, u.Needs)
	features.Reroute = u.Scenario.reroutes()
	return features
}

// Resolution represents the resolved form of a scenario under a controller and a seed.
type Resolution struct {
	// Configuration holds the scenario with every default filled in and all of the user's settings applied.
	Configuration View        `json:"configuration"`
	Constants     []constants `json:"controller_constants"`
	Paths         []flowPath  `json:"paths"` // of each listed flow
	// File identifies the file of the congestion control, of which the run's folder has a copy; absent: it is built
	// in.
	File *cc.File `json:"controller_file,omitempty"`
}

// constants holds a controller's constants for flows with equal paths.
type constants struct {
	CC          string            `json:"cc,omitempty"` // absent: the run's
	LineRateBPS int64             `json:"line_rate_bps"`
	BaseRTTPS   int64             `json:"base_rtt_ps"`
	Values      map[string]string `json:"values"`
}

// flowPath holds the path of a flow, and the UDP source port that makes ECMP choose it. If load balancing spreads its
// packets, it holds the nodes that they may pass.
type flowPath struct {
	Port uint16   `json:"udp_source_port"`
	Path []string `json:"path,omitempty"`
	May  []string `json:"may_pass,omitempty"`
	// QPs holds the paths of the flow's further QPs.
	QPs []flowPath `json:"qps,omitempty"`
}

// Own returns the resolution without the scenario's other controllers.
func (m *Resolution) Own() Resolution {
	own := *m
	own.Configuration.Controllers, own.Configuration.Variants, own.Configuration.Constants = nil, nil, nil
	return own
}

// pathNames returns the nodes along a path, from source to destination. Hosts with several interfaces are named by
// interface.
func pathNames(plan *topologies.Plan, path []topologies.PortID) []string {
	names := make([]string, 0, len(path)+1)
	for _, p := range path {
		names = append(names, portOwner(plan, p))
	}
	return append(names, portOwner(plan, plan.Ports[path[len(path)-1]].Peer))
}

// portOwner returns the name of a port's node; for a host of several ports, with the port's number.
func portOwner(plan *topologies.Plan, id topologies.PortID) string {
	p := &plan.Ports[id]
	if plan.Nodes[p.Node].Kind == topologies.Host {
		return plan.EndName(p.Node, uint8(p.Number-1))
	}
	return plan.Nodes[p.Node].Name
}

// wayNames returns the nodes that a flow's packets may pass, from source to destination.
func wayNames(plan *topologies.Plan, f *Flow) []string {
	var names []string
	seen := map[topologies.NodeID]bool{}
	for _, p := range slices.Concat(plan.Ways(f.Source, f.Destination, f.Pair)...) {
		if id := plan.Ports[p].Node; !seen[id] {
			seen[id] = true
			names = append(names, plan.Nodes[id].Name)
		}
	}
	return append(names, plan.Nodes[f.Destination].Name)
}

// Resolution returns the resolved form of the scenario in this setup.
func (u *Setup) Resolution() Resolution {
	s := u.Scenario
	m := Resolution{Configuration: s.View(), File: u.CC.File}
	u.references(s.Panels, m.Configuration.Report)
	// Sort by the flows that need them first, so that equal runs have equal manifests.
	seen := map[*ControllerSetup]bool{}
	for i := range s.Flows {
		f, set := &s.Flows[i], &u.Flows[i]
		if !seen[set.ControllerSetup] {
			seen[set.ControllerSetup] = true
			c := constants{LineRateBPS: int64(set.Env.LineRate), BaseRTTPS: int64(set.Env.BaseRTT), Values: set.Settings.Map()}
			if set.CC != u.CC {
				c.CC = set.CC.Name
			}
			m.Constants = append(m.Constants, c)
		}
		if i >= len(s.Listed()) {
			continue
		}
		pathOf := func(ports paths.Ports) flowPath {
			if s.Topology.Moving() {
				return flowPath{Port: ports.Source, May: wayNames(s.Topology, f)}
			}
			return flowPath{Port: ports.Source, Path: pathNames(s.Topology,
				paths.Forward(s.Topology, f.Source, f.Destination, ports))}
		}
		path := pathOf(set.Ports)
		for _, q := range u.more[int32(i)] {
			path.QPs = append(path.QPs, pathOf(u.QPs[int(q)-len(u.Flows)].Ports))
		}
		m.Paths = append(m.Paths, path)
	}
	return m
}

// Hash returns a hash of everything that decides the results of the run, except the program. It does not cover the
// scenario's other controllers.
func (u *Setup) Hash(m *Resolution) string {
	sum := sha256.New()
	// only texts and numbers, so it cannot fail
	_ = json.NewEncoder(sum).Encode([]any{u.Scenario.Name, u.Name, u.CC.Name, u.Seed, m.Own()})
	return hex.EncodeToString(sum.Sum(nil))
}

// ConfigurationHash returns a hash that is equal for two runs with equal scenarios (with all defaults and settings),
// controllers, constants, paths and seeds. The manifest of a run contains it.
func ConfigurationHash(s *Scenario, controller string, seed uint64) (string, error) {
	u, err := NewSetup(s, controller, seed)
	if err != nil {
		return "", err
	}
	m := u.Resolution()
	return u.Hash(&m), nil
}

// PortsOf returns a function that returns a flow's ports in a run with that seed. They decide the flow's path: see
// paths.Forward.
func (s *Scenario) PortsOf(seed uint64) func(flow int) (paths.Ports, error) {
	of := s.QPPortsOf(seed)
	return func(flow int) (paths.Ports, error) { return of(flow, 0) }
}

// QPPortsOf returns a function that returns the ports of a QP of a flow. The first QP has the ports that the flow
// would have with one QP.
func (s *Scenario) QPPortsOf(seed uint64) func(flow, qp int) (paths.Ports, error) {
	salt := s.Salts(seed)
	first := func(flow, qp int) paths.Ports { return paths.FirstPorts(salt(flow, qp)) }
	if s.Topology.Hash == topologies.HashHPCC {
		all := s.HPCCPorts()
		first = func(flow, _ int) paths.Ports { return all[flow] }
	}
	return func(flow, qp int) (paths.Ports, error) {
		f := &s.Flows[flow]
		extra, from := f.Extra(), first(flow, qp)
		from.Pair = f.Pair
		via := extra.Via
		if n := len(extra.QPVia); n > 0 {
			via = append(slices.Clip(via), extra.QPVia[qp%n])
		}
		ports, err := paths.Pin(s.Topology, f.Source, f.Destination, via, from)
		if err != nil {
			return ports, fmt.Errorf("flow %d (%s): %w", flow, f.Tag, err)
		}
		return ports, nil
	}
}

// HPCCFirstPort holds the source port of a host's first flow in HPCC's simulator; its other flows follow in order of
// their starts.
const HPCCFirstPort = 10000

// HPCCPorts returns the flows' ports in HPCC's simulator (third.cc: ScheduleFlowInputs).
func (s *Scenario) HPCCPorts() []paths.Ports {
	byStart, ports := make([]int, len(s.Flows)), make([]paths.Ports, len(s.Flows))
	for i := range s.Flows {
		byStart[i] = i
	}
	slices.SortStableFunc(byStart, func(a, b int) int { return cmp.Compare(s.Flows[a].Start, s.Flows[b].Start) })
	used := map[topologies.NodeID]uint16{}
	for _, i := range byStart {
		f := &s.Flows[i]
		ports[i] = paths.Ports{Source: HPCCFirstPort + used[f.Source], Destination: uint16(s.hpccPort(i))}
		used[f.Source]++
	}
	return ports
}

// IdleConstant returns the reason why a constant of a congestion control has no effect in the scenario; empty: it has
// an effect.
func (s *Scenario) IdleConstant(spec *cc.Spec, name string) string {
	if spec.Idle == nil || len(s.Flows) == 0 {
		return ""
	}
	set, err := s.Resolver().Resolve(spec, spec.Constants(s.ControllerSettings),
		Environment(s.Topology, &s.Flows[0], spec.Needs))
	if err != nil {
		return "" // Check reports it
	}
	if names, why := spec.Idle(&set); slices.Contains(names, name) {
		return why
	}
	return ""
}

// settingFile limits the size of a file that a constant names.
var settingFile = files.Kind{Name: "a constant's file", Most: 16 << 20}

// Resolver returns a resolver of controllers' constants. Constants name files relative to the working directory.
func (s *Scenario) Resolver() cc.Resolver {
	var sources *files.Sources
	if s.Recipe != nil {
		sources = s.Recipe.sources
	}
	return cc.Resolver{ReadFile: func(path string) ([]byte, error) {
		data, err := sources.Read(path, settingFile)
		if err != nil && !files.IsRefused(err) {
			err = fmt.Errorf("%w (a relative path is relative to the working directory)", err)
		}
		return data, err
	}}
}
