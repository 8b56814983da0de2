package kernel

import (
	"fmt"

	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/topologies"
)

// openWasm returns no plane, rather than one that is nil, with an error.
func openWasm(plan *topologies.Plan, features engine.Features) (engine.Plane, error) {
	p, err := engine.OpenWasmPlane(plan, features)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// The largest fabric that is built in the kernel, which takes a namespace a node and a veth pair a port.
const (
	MaxHosts    = 4096
	MaxSwitches = 1024
)

// TooLargeError says that a fabric is larger than the kernel plane's.
type TooLargeError struct{ Hosts, Switches int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%d hosts and %d switches: the kernel plane has room for at most %d and %d: run takes larger ones, with --plane wasm, and comes to the same",
		e.Hosts, e.Switches, MaxHosts, MaxSwitches)
}
