// Package blame determines whose code has panicked: a congestion control, which users write, or the program itself.
package blame

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Packages that call congestion controls: hostagent calls their methods, and engine their constructors.
const (
	nic    = "github.com/pausenet/pausenet/hostagent."
	engine = "github.com/pausenet/pausenet/orchestrator/engine."
)

// Methods lists the methods that a NIC calls.
var Methods = []string{
	"OnSent", "OnAck", "OnCNP", "OnCNM", "OnNak", "OnTimeout", "OnLoss", "OnTimer", "Rate", "Window",
	"Deadline", "Retimes",
}

// Carried carries a panic of one goroutine to another, which panics with it.
type Carried struct {
	Value          any
	Stack          []byte
	FromController bool // last result of Of
}

// Error returns the value with the stack of the goroutine that panicked first. It is printed if nobody recovers.
func (c *Carried) Error() string { return fmt.Sprintf("%v\n\n%s", c.Value, c.Stack) }

// Carry wraps a panic value for another goroutine. Call it in the deferred function that recovers from the panic.
func Carry(value any) *Carried {
	value, stack, ofController := Of(value)
	return &Carried{value, stack, ofController}
}

// Of returns the value of a panic, its stack, and whether a method or constructor of a congestion control caused it,
// and not the code around it. Call it with the recovered value in the deferred function that recovered.
func Of(recovered any) (value any, stack []byte, ofController bool) {
	if c, ok := recovered.(*Carried); ok {
		return c.Value, c.Stack, c.FromController
	}
	return recovered, debug.Stack(), fromController()
}

func fromController() bool {
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
