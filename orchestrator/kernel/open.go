package kernel

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
)

// Opener returns what opens the plane of the given name.
func Opener(name string) plane.Opener {
	return func(plan *topologies.Plan, features plane.Features) (plane.Plane, error) {
		return OpenPlane(name, plan, FabricOptions{Features: features})
	}
}

// The largest fabric that is built in the kernel, which takes a namespace a node and a veth pair a port.
const (
	MaxHosts    = 4096
	MaxSwitches = 1024
)

// TooLargeError says that a fabric is larger than the kernel plane's.
type TooLargeError struct{ Hosts, Switches int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%d hosts and %d switches are too many: the kernel plane supports at most %d and %d (use run with --plane wasm, with identical results)",
		e.Hosts, e.Switches, MaxHosts, MaxSwitches)
}

// Advice is an error of bringing a fabric up with what the user can do about it.
type Advice struct {
	Err    error
	Remedy string // an instruction, one line
}

func (a *Advice) Error() string { return a.Err.Error() + ": " + a.Remedy }

// Unwrap returns the underlying error.
func (a *Advice) Unwrap() error { return a.Err }

// Explain joins what to do about it to an error of bringing a fabric up. An error that nothing is known about, and one
// that has its advice already, is returned as it is.
func Explain(err error) error {
	var advised *Advice
	if err == nil || errors.As(err, &advised) {
		return err
	}
	if remedy := Remedy(err); remedy != "" {
		return &Advice{Err: err, Remedy: remedy}
	}
	return err
}
