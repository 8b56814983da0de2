//go:build linux

package live

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/experiments/runner"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/kernel"
	"github.com/pausenet/pausenet/orchestrator/routes"
	"github.com/pausenet/pausenet/topologies"
)

// Routings.
const (
	RoutingShortest = "shortest" // pausenet computes shortest paths
	RoutingKernel   = "kernel"   // routes are those of the kernel in the switches' namespaces
)

// controlPlane connects the switches' pipelines with the kernel's network in their namespaces. Frames that the
// pipelines do not forward go up that network, whose frames leave by the switch's ports. Its routes are the pipelines'.
type controlPlane struct {
	plane    *kernel.ProcessPlane
	follower *routes.Follower
	links    chan struct{} // a link may have gone down or come up
	done     chan struct{} // closed when the goroutine has ended
}

// openControlPlane prepares the switches' namespaces, before the engine runs.
func (f *Fabric) openControlPlane(e *engine.Engine) error {
	p, ok := f.plane.(*kernel.ProcessPlane)
	if !ok {
		return errors.New("routing by the kernel's tables needs --plane wasm: " +
			"the interfaces of the kernel plane's switches belong to the pipelines")
	}
	if f.Plan.LearnGateway {
		return errors.New("routing by the kernel's tables needs topology.l2: static")
	}
	if err := p.Fabric().PrepareSwitches(); err != nil {
		return &runner.EnvironmentError{Err: err}
	}
	p.ManageCarriers()
	c := &controlPlane{plane: p, links: make(chan struct{}, 1), done: make(chan struct{})}
	e.Punt(c.punt)
	f.control, f.watch.linkChanged = c, c.links
	return nil
}

// punt gives a frame to the kernel of the switch whose port received it. It leaves frames to groups beyond the link to
// the fabric, which copies them to all hosts.
func (c *controlPlane) punt(port int, data []byte) bool {
	if data[0]&1 != 0 && !ofLink(data) {
		return false
	}
	_ = c.plane.Inject(port, data) // or its interface is down: the frame is lost
	return true
}

// ofLink reports whether a frame to a group stays on its link: ARP, 224.0.0.0/24 (RFC 5771), ff02::/16 (RFC 4291).
func ofLink(data []byte) bool {
	const destination4, destination6 = wire.EthernetLen + 16, wire.EthernetLen + 24
	switch wire.Ethernet(data).Type() {
	case wire.EtherTypeARP:
		return true
	case wire.EtherTypeIPv4:
		return len(data) >= destination4+4 && data[destination4] == 224 && data[destination4+1] == 0 &&
			data[destination4+2] == 0
	case wire.EtherTypeIPv6:
		return len(data) >= destination6+16 && data[destination6] == 0xff && data[destination6+1]&0x0f == 2
	}
	return false
}

// startControlPlane starts to follow the kernel's routes and to report links to it. The engine runs.
func (f *Fabric) startControlPlane() (err error) {
	c := f.control
	if c == nil {
		return nil
	}
	c.follower, err = routes.Follow(routes.Config{
		Plan: f.Plan, Namespace: f.plane.Fabric().Namespace,
		Changed: func(r *topologies.Routes) error {
			return f.Do(func(e *engine.Engine) error { return e.SetRoutes(r) })
		},
		Failed: func(err error) {
			if !errors.Is(err, ErrEnded) {
				f.cancel(fmt.Errorf("follow the switches' routes: %w", err))
			}
		},
	})
	if err != nil {
		close(c.done)
		return &runner.EnvironmentError{Err: err}
	}
	go f.reportLinks(c)
	return nil
}

// reportLinks takes the carriers of switches' interfaces down and up with their links, until the fabric ends.
func (f *Fabric) reportLinks(c *controlPlane) {
	defer close(c.done)
	up := make([]bool, len(f.Plan.Ports))
	for i := range up {
		up[i] = true
	}
	for {
		select {
		case <-f.done:
			return
		case <-c.links:
		}
		now := make([]bool, len(f.Plan.Ports))
		if f.Do(func(e *engine.Engine) error {
			for i := range now {
				now[i] = e.LinkUp(i)
			}
			return nil
		}) != nil {
			return
		}
		for i := range now {
			port := &f.Plan.Ports[i]
			if now[i] == up[i] || f.Plan.Nodes[port.Node].Kind != topologies.Switch {
				continue
			}
			if err := c.plane.Fabric().SetCarrier(port.ID, now[i]); err != nil {
				f.cancel(&runner.EnvironmentError{Err: err})
				return
			}
		}
		up = now
	}
}

// close ends the control plane. The engine has stopped.
func (c *controlPlane) close() error {
	if c == nil {
		return nil
	}
	<-c.done
	return c.follower.Close()
}
