package experiments

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/topologies"
)

// portsOf are the ports that the flows have in a run with that seed. They decide the flows' paths: see orchestrator.Path.
func (s *Scenario) portsOf(seed uint64) func(flow int) (orchestrator.Ports, error) {
	first := func(flow int) orchestrator.Ports { return orchestrator.FirstPorts(s.salt(flow, seed)) }
	if s.Topology.Hash == topologies.HashHPCC {
		all := s.hpccPorts()
		first = func(flow int) orchestrator.Ports { return all[flow] }
	}
	return func(flow int) (orchestrator.Ports, error) {
		f := &s.Flows[flow]
		ports, err := orchestrator.PinPath(s.Topology, f.Source, f.Destination, f.Via, first(flow))
		if err != nil {
			return ports, fmt.Errorf("flow %d (%s): %w", flow, f.Tag, err)
		}
		return ports, nil
	}
}

// hpccFirstPort is the source port of a host's first flow in HPCC's simulator; the others' follow in the order of their starts.
const hpccFirstPort = 10000

// hpccPorts are the flows' ports in HPCC's simulator (third.cc: ScheduleFlowInputs).
func (s *Scenario) hpccPorts() []orchestrator.Ports {
	byStart, ports := make([]int, len(s.Flows)), make([]orchestrator.Ports, len(s.Flows))
	for i := range s.Flows {
		byStart[i] = i
	}
	slices.SortStableFunc(byStart, func(a, b int) int { return cmp.Compare(s.Flows[a].Start, s.Flows[b].Start) })
	used := map[topologies.NodeID]uint16{}
	for _, i := range byStart {
		f := &s.Flows[i]
		ports[i] = orchestrator.Ports{Source: hpccFirstPort + used[f.Source], Destination: uint16(s.hpccPort(i))}
		used[f.Source]++
	}
	return ports
}
