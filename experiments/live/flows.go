//go:build linux

package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/experiments/scenario"
	"github.com/pausenet/pausenet/internal/spelling"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/topologies"
	"github.com/pausenet/pausenet/units"
	"github.com/pausenet/pausenet/vtime"
)

// FlowRequest describes an RDMA flow to start.
type FlowRequest struct {
	From, To string
	Size     units.Bytes
	CC       string // empty means the fabric's
	QPs      int    // number of queue pairs; 0 means one

	own    *scenario.Flow // a flow of the scenario
	number int            // its index in the scenario
}

// Start returns the delay between the request and the flow's start.
func (r *FlowRequest) Start() vtime.Time {
	if r.own == nil {
		return 0
	}
	return r.own.Start
}

// FlowResult holds the results of a finished flow.
type FlowResult struct {
	FlowRequest
	Sent       units.Bytes // less than the size if it was stopped
	Began      vtime.Time  // since bring-up
	FCT, Ideal vtime.Time
	Rate       units.Rate // payload over FCT
}

// Slowdown returns the flow's completion time over its ideal one.
func (r *FlowResult) Slowdown() float64 { return float64(r.FCT) / float64(r.Ideal) }

// Node returns the named node.
func (f *Fabric) Node(name string) (*topologies.Node, error) {
	if n := f.Plan.NodeByName(name); n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("no node %q%s", name, spelling.Suggest(name, f.Plan.Names()))
}

// Host returns the named host.
func (f *Fabric) Host(name string) (*topologies.Node, error) {
	n, err := f.Node(name)
	if err == nil && n.Kind != topologies.Host {
		return nil, fmt.Errorf("%s is a switch (name a host)", name)
	}
	return n, err
}

// end returns the named host, and its port if the name has one ("h0.2").
func (f *Fabric) end(name string) (n *topologies.Node, position uint8, named bool, err error) {
	if f.Plan.NodeByName(name) != nil {
		n, err = f.Host(name)
		return n, 0, false, err
	}
	host, position, err := f.Plan.End(name)
	if err != nil {
		return nil, 0, false, err
	}
	return &f.Plan.Nodes[host], position, true, nil
}

// StartFlows starts flows at the same time. It calls ended for each, on the engine's goroutine. The first flows of
// the scenario also start the scenario's faults.
func (f *Fabric) StartFlows(requests []FlowRequest, ended func(FlowResult)) error {
	flows := make([]scenario.Flow, len(requests))
	for i, r := range requests {
		if err := f.Made.learn(r.CC); err != nil {
			return err
		}
		if r.own != nil {
			flows[i] = *r.own
			continue
		}
		from, fromPosition, fromNamed, err := f.end(r.From)
		if err != nil {
			return err
		}
		to, toPosition, toNamed, err := f.end(r.To)
		if err != nil {
			return err
		}
		if from == to {
			return fmt.Errorf("cannot send from %s to itself (name two hosts)", r.From)
		}
		if r.Size <= 0 {
			return fmt.Errorf("cannot send %v (give a size such as 10MB)", r.Size)
		}
		if r.QPs > 1 && f.Plan.Hash == topologies.HashHPCC {
			return errors.New("qps: routing.hash is the hash of HPCC's simulator, which has one QP per flow (leave qps out)")
		}
		flows[i] = scenario.Flow{
			Tag: scenario.DefaultTag, Source: from.ID, Destination: to.ID, Size: r.Size,
			Pair: topologies.Pair{From: fromPosition, To: toPosition},
		}
		if fromNamed {
			flows[i].Named |= topologies.NamedFrom
		}
		if toNamed {
			flows[i].Named |= topologies.NamedTo
		}
		if len(f.Plan.PairsVia(from.ID, to.ID, nil, flows[i].Pair, flows[i].Named)) == 0 {
			return fmt.Errorf("no switches connect %s and %s (name interfaces of one plane)", r.From, r.To)
		}
	}
	return f.Do(func(e *engine.Engine) error {
		if !f.started && slices.ContainsFunc(requests, func(r FlowRequest) bool { return r.own != nil }) {
			f.started = true
			runner.ScheduleFaults(e, f.Made.Scenario, e.Now())
		}
		for i, r := range requests {
			own := &flows[i]
			own.Start += e.Now()
			of, salts := scenario.QPs{Count: r.QPs}, f.saltsOf(&r, own)
			var qps []measure.QPPath
			var configs []engine.FlowConfig
			for k, size := range of.Split(own.Size, f.Plan.MTU) {
				part := *own
				part.Size = size
				salt := salts(k)
				if f.Plan.Hash == topologies.HashHPCC { // HPCC's hash counts flows
					salt = uint64(e.AddedFlows())
				}
				config, err := f.Made.Flow(&part, r.CC, salt)
				if err != nil {
					return err
				}
				configs = append(configs, config)
				qps = append(qps, measure.QPPath{
					Path: paths.Forward(f.Plan, own.Source, own.Destination, config.Ports),
					Back: paths.Back(f.Plan, own.Source, own.Destination, config.Ports), Size: int64(size),
				})
			}
			if r.own == nil {
				f.listing.Add(own)
			}
			left, sent := len(configs), int64(0)
			end := func(now vtime.Time) {
				fct := now - own.Start
				result := FlowResult{
					FlowRequest: r, Sent: units.Bytes(sent), Began: own.Start, FCT: fct, Ideal: measure.IdealOfQPs(f.Plan, qps),
					Rate: units.Rate(float64(8*sent) / fct.Seconds()),
				}
				f.ended.add(result.Sent, result.Slowdown())
				ended(result)
			}
			for k := range configs {
				id := e.AddFlow(configs[k])
				f.watch.flowAdded(id, func(now vtime.Time) {
					qps[k].Size = e.Flows()[id].Size
					sent += qps[k].Size
					if left--; left == 0 {
						end(now)
					}
				})
				if own.Start > e.Now() {
					e.Call(own.Start, func(now vtime.Time) { f.watch.flowStarted(now, id) })
				} else {
					f.watch.flowStarted(e.Now(), id)
				}
			}
		}
		return nil
	})
}

// saltsOf returns the salts that determine the UDP source ports of a flow's QPs, and chooses the interfaces at both
// ends. A flow of the scenario has the same as in a run, however often it starts. Other flows have those of a
// scenario that lists them in the order of their starts.
func (f *Fabric) saltsOf(r *FlowRequest, flow *scenario.Flow) func(qp int) uint64 {
	if r.own != nil {
		return func(qp int) uint64 { return f.salts(r.number, qp) }
	}
	f.listing.Join(f.Plan, flow)
	return f.listing.Salts(flow)
}

// StopFlows ends flows after their current packet: those with the given numbers (see Snapshot), or all unfinished
// ones. It returns their number, counting each QP of a flow. It does not end flows of programs.
func (f *Fabric) StopFlows(numbers []int) (stopped int, err error) {
	err = f.Do(func(e *engine.Engine) error {
		flows := e.Flows()
		var those []int
		for _, id := range f.watch.open {
			if w := &flows[id]; len(numbers) == 0 && w.Pair == nil || slices.Contains(numbers, w.Number) {
				those = append(those, id)
			}
		}
		for _, n := range numbers {
			at := slices.IndexFunc(those, func(id int) bool { return flows[id].Number == n })
			if at < 0 {
				return fmt.Errorf("no unfinished flow %d (top lists the flows with their numbers)", n)
			}
			if flows[those[at]].Pair != nil {
				return fmt.Errorf("flow %d is a queue pair of a program (end the program)", n)
			}
		}
		for _, id := range those {
			e.ShortenFlow(id)
		}
		stopped = len(those)
		return nil
	})
	return stopped, err
}

// Incast returns requests for n hosts to send to one host at the same time: the hosts after it, in order.
func (f *Fabric) Incast(n int, to string, size units.Bytes, cc string) ([]FlowRequest, error) {
	receiver, _, _, err := f.end(to)
	if err != nil {
		return nil, err
	}
	if most := len(f.Plan.Hosts) - 1; n < 1 || n > most {
		return nil, fmt.Errorf("incast: %d senders requested, but expected 1 to %d, the number of other hosts", n, most)
	}
	var requests []FlowRequest
	for i := range n {
		host := f.Plan.Hosts[(receiver.Index+1+i)%len(f.Plan.Hosts)]
		requests = append(requests, FlowRequest{From: f.Plan.Nodes[host].Name, To: to, Size: size, CC: cc})
	}
	return requests, nil
}

// ScenarioFlows returns the flows of the fabric's scenario, all or those with a tag. Each starts with the same delay
// as in the scenario.
func (f *Fabric) ScenarioFlows(tag string) ([]FlowRequest, error) {
	var requests []FlowRequest
	var tags []string
	all := f.Made.Scenario.Flows
	for i := range all {
		own := &all[i]
		if !slices.Contains(tags, own.Tag) {
			tags = append(tags, own.Tag)
		}
		if tag == "" || tag == own.Tag {
			requests = append(requests, FlowRequest{
				From: f.Plan.EndName(own.Source, own.Pair.From),
				To:   f.Plan.EndName(own.Destination, own.Pair.To), Size: own.Size, own: own, number: i,
			})
		}
	}
	for _, r := range requests {
		if r.own.Waits() {
			return nil, fmt.Errorf("the flows of %s depend on each other, which a live fabric does not support "+
				"(use pausenet run, or the tag of other flows)", r.own.Tag)
		}
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("the fabric was brought up from a topology, which has no flows (bring up a scenario, or " +
			"use flow and incast)")
	case len(requests) == 0:
		return nil, fmt.Errorf("no flows with the tag %q (expected %s)", tag, strings.Join(tags, ", "))
	}
	return requests, nil
}

// Way returns the current path of an open flow's packets, as the interfaces that send them; nil if the flow is not
// open.
func (f *Fabric) Way(number int) (ports []string, err error) {
	return ports, f.Do(func(e *engine.Engine) error {
		flows := e.Flows()
		for _, id := range f.watch.open {
			if flows[id].Number != number {
				continue
			}
			for _, port := range e.Way(id) {
				ports = append(ports, f.Plan.Ports[port].Name)
			}
			break
		}
		return nil
	})
}

// idealFCT returns the completion time of a flow with one QP that shares its path with no other.
func idealFCT(plan *topologies.Plan, source, destination topologies.NodeID, size int64, ports paths.Ports) vtime.Time {
	path, back := paths.Forward(plan, source, destination, ports), paths.Back(plan, source, destination, ports)
	return measure.IdealFCT(plan, path, back, size)
}
