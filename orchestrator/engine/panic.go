package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/vtime"
)

// PanicError reports a panic of a congestion control. The engine stopped in the middle of an event: its counts can be
// read, but it can neither continue nor be checked.
type PanicError struct {
	Location string // the congestion control and its flow
	Time     vtime.Time
	Value    any // value passed to panic
	Stack    []byte
	// File names the file to which the caller has written Stack; empty: none.
	File string
}

// fileError describes the panic value of a congestion control that was read from a file. Details returns the message
// and the trace, which replace the stack.
type fileError interface {
	error
	Details() string
}

func (p *PanicError) Error() string {
	if g, ok := p.Value.(fileError); ok {
		return fmt.Sprintf("the congestion control failed: %s at %v: %v", p.Location, p.Time, g)
	}
	text := fmt.Sprintf("the congestion control panicked: %s at %v: %v", p.Location, p.Time, p.Value)
	if p.File != "" {
		text += "; where in its code says " + p.File
	}
	return text
}

// Panicked describes a panic that the caller of Run or Step has recovered from; nil if no congestion control was
// running.
func (e *Engine) Panicked(value any, stack []byte) *PanicError {
	if g, ok := value.(fileError); ok {
		stack = []byte(g.Details())
	}
	in := interruption{partition: noPartition, at: e.now, constructing: e.constructing}
	if c := e.firstInterruption(); c != nil {
		in = *c
	}
	for i, n := range e.nics {
		if flow, ok := n.Calling(); ok && (in.partition == noPartition || e.hostPort(i).partition == in.partition) {
			return &PanicError{Location: e.locationOf(e.flow(int(flow))), Time: in.at, Value: value, Stack: stack}
		}
	}
	if in.constructing > 0 {
		return &PanicError{Location: e.locationOf(e.flow(int(in.constructing) - 1)), Time: in.at, Value: value, Stack: stack}
	}
	return nil
}
