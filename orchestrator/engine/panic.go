package engine

import (
	"fmt"

	"github.com/pausenet/pausenet/vtime"
)

// PanicError says that a congestion control has panicked. The engine is left in the middle of an event: it can say what it has counted, and
// neither go on nor be checked.
type PanicError struct {
	Place string // the congestion control and its flow
	Time  vtime.Time
	Value any // of the panic
	Stack []byte
	// File is what whoever recovered has written the stack to; empty: nothing.
	File string
}

func (p *PanicError) Error() string {
	text := fmt.Sprintf("the congestion control panicked: %s at %v: %v", p.Place, p.Time, p.Value)
	if p.File != "" {
		text += "; where in its code says " + p.File
	}
	return text
}

// Panicked is what to say after a panic out of Run or Step, which whoever called it has recovered from; nil if no congestion control was at
// work.
func (e *Engine) Panicked(value any, stack []byte) *PanicError {
	for _, n := range e.nics {
		if flow, ok := n.Calling(); ok {
			return &PanicError{Place: e.placeOf(&e.flows[flow]), Time: e.now, Value: value, Stack: stack}
		}
	}
	if e.making > 0 {
		return &PanicError{Place: e.placeOf(&e.flows[e.making-1]), Time: e.now, Value: value, Stack: stack}
	}
	return nil
}
