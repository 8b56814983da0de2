// Package blame tells whose code has panicked: a congestion control's, which users write, or the program's own.
package blame

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Packages that call congestion controls: by its methods, and to have one made.
const (
	nic    = "github.com/pausenet/pausenet/hostagent."
	engine = "github.com/pausenet/pausenet/orchestrator/engine."
)

// Methods are those that a NIC calls.
var Methods = []string{
	"OnSent", "OnAck", "OnCNP", "OnCNM", "OnNak", "OnTimeout", "OnLoss", "OnTimer", "Rate", "Window",
	"Deadline", "Retimes",
}

// Carried is a panic of one goroutine that another panics with in its place.
type Carried struct {
	Value   any
	Stack   []byte
	Outside bool // what Of has last
}

// Error returns the value with the stack of the goroutine that panicked first: what is printed if nobody recovers.
func (c *Carried) Error() string { return fmt.Sprintf("%v\n\n%s", c.Value, c.Stack) }

// Carry returns a panic with this value for another goroutine. The deferred function that recovers from the panic
// calls it.
func Carry(value any) *Carried {
	value, stack, outside := Of(value)
	return &Carried{value, stack, outside}
}

// Of returns what a panic was about, its stack, and whether it came out of a method of a congestion control, or of
// what makes one, and not out of the code around it. It is to be called with what was recovered, by the deferred
// function that did.
func Of(recovered any) (value any, stack []byte, outside bool) {
	if c, ok := recovered.(*Carried); ok {
		return c.Value, c.Stack, c.Outside
	}
	return recovered, debug.Stack(), cameFromOutside()
}

func cameFromOutside() bool {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	panicked, called := false, ""
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		switch name := frame.Function; {
		case name == "runtime.gopanic":
			panicked, called = true, ""
		case !panicked || strings.HasPrefix(name, "runtime."):
		case strings.HasPrefix(name, nic):
			return slices.Contains(Methods, called[strings.LastIndexByte(called, '.')+1:])
		case strings.HasPrefix(name, engine):
			return called != ""
		default:
			called = name
		}
	}
	return false
}
