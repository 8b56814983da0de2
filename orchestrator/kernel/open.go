package kernel

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/orchestrator/engine/plane"
	"github.com/pausenet/pausenet/topologies"
)

// Opener returns the function that opens the plane of the given name.
func Opener(name string) plane.Opener {
	return func(plan *topologies.Plan, features plane.Features) (plane.Plane, error) {
		return OpenPlane(name, plan, FabricOptions{Features: features})
	}
}

// Limits on fabrics in the kernel, which need a namespace per node and a veth pair per port.
const (
	MaxHosts    = 4096
	MaxSwitches = 1024
)

// TooLargeError means that a fabric is too large for the kernel plane.
type TooLargeError struct{ Hosts, Switches int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%d hosts and %d switches are too many: the kernel plane supports at most %d and %d "+
		"(use run with --plane wasm, with identical results)",
		e.Hosts, e.Switches, MaxHosts, MaxSwitches)
}

// Advice adds a remedy for the user to an error of the bring-up.
type Advice struct {
	Err    error
	Remedy string // an instruction, one line
}

func (a *Advice) Error() string { return a.Err.Error() + ": " + a.Remedy }

// Unwrap returns the underlying error.
func (a *Advice) Unwrap() error { return a.Err }

// Explain adds a remedy to an error of the bring-up. It returns unknown errors, and errors with a remedy, unchanged.
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
