package kernel

import (
	"fmt"

	"github.com/pausenet/pausenet/topologies"
)

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

// checkSize refuses, with a TooLargeError, a fabric that is larger than the kernel plane's.
func checkSize(plan *topologies.Plan) error {
	if len(plan.Hosts) <= MaxHosts && len(plan.Switch) <= MaxSwitches {
		return nil
	}
	return &TooLargeError{len(plan.Hosts), len(plan.Switch)}
}
