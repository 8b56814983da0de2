//go:build linux

package live

import (
	"fmt"

	"github.com/pausenet/pausenet/experiments"
	"github.com/pausenet/pausenet/internal/units"
	"github.com/pausenet/pausenet/internal/vtime"
	"github.com/pausenet/pausenet/internal/yamlspec"
	"github.com/pausenet/pausenet/orchestrator"
	"github.com/pausenet/pausenet/topologies"
)

// FlowRequest is an RDMA flow to be started now.
type FlowRequest struct {
	From, To string
	Size     units.Bytes
	CC       string // empty: the fabric's
}

// FlowResult is a flow that has ended.
type FlowResult struct {
	FlowRequest
	FCT, Ideal vtime.Time
	Rate       units.Rate // payload over FCT
}

// Slowdown is the flow's completion time over its ideal one.
func (r *FlowResult) Slowdown() float64 { return float64(r.FCT) / float64(r.Ideal) }

// Node is the node of a name.
func (f *Fabric) Node(name string) (*topologies.Node, error) {
	if n := f.Plan.NodeByName(name); n != nil {
		return n, nil
	}
	return nil, fmt.Errorf("no node %q%s", name, yamlspec.Suggest(name, f.Plan.Names()))
}

// Host is the host of a name.
func (f *Fabric) Host(name string) (*topologies.Node, error) {
	n, err := f.Node(name)
	if err == nil && n.Kind != topologies.Host {
		return nil, fmt.Errorf("%s is a switch: name a host", name)
	}
	return n, err
}

// StartFlows starts flows at one time. ended is told of each, on the engine's goroutine.
func (f *Fabric) StartFlows(requests []FlowRequest, ended func(FlowResult)) error {
	type end struct{ source, destination topologies.NodeID }
	ends := make([]end, len(requests))
	for i, r := range requests {
		from, err := f.Host(r.From)
		if err != nil {
			return err
		}
		to, err := f.Host(r.To)
		if err != nil {
			return err
		}
		if from == to {
			return fmt.Errorf("a flow from %s to itself: name two hosts", r.From)
		}
		if r.Size <= 0 {
			return fmt.Errorf("a flow of %v: give a size such as 10MB", r.Size)
		}
		ends[i] = end{from.ID, to.ID}
	}
	return f.Do(func(e *orchestrator.Engine) error {
		for i, r := range requests {
			salt := f.options.Seed<<32 ^ uint64(len(e.Flows()))
			config, err := f.Made.Flow(ends[i].source, ends[i].destination, r.Size, r.CC, e.Now(), salt)
			if err != nil {
				return err
			}
			start := e.Now()
			ideal := experiments.IdealFCT(f.Plan, ends[i].source, ends[i].destination, int64(r.Size), config.SourcePort)
			id := e.AddFlow(config)
			f.watch.ends[id] = func(now vtime.Time) {
				fct := now - start
				ended(FlowResult{
					FlowRequest: r, FCT: fct, Ideal: ideal,
					Rate: units.Rate(float64(8*r.Size) / fct.Seconds()),
				})
			}
		}
		return nil
	})
}

// Incast has n hosts send to one at the same time, those first that follow it in the order of hosts.
func (f *Fabric) Incast(n int, to string, size units.Bytes, cc string) ([]FlowRequest, error) {
	receiver, err := f.Host(to)
	if err != nil {
		return nil, err
	}
	if most := len(f.Plan.Hosts) - 1; n < 1 || n > most {
		return nil, fmt.Errorf("incast of %d: there are 1..%d other hosts", n, most)
	}
	var requests []FlowRequest
	for i := range n {
		host := f.Plan.Hosts[(receiver.Index+1+i)%len(f.Plan.Hosts)]
		requests = append(requests, FlowRequest{From: f.Plan.Nodes[host].Name, To: to, Size: size, CC: cc})
	}
	return requests, nil
}
