package engine

import (
	"errors"

	"github.com/pausenet/pausenet/internal/frame"
)

// ErrUnfinished is a Plane's: the frame went in, and the pipelines did not deal with it. In a live fabric a user may take an
// interface down or a program away.
var ErrUnfinished = errors.New("the pipelines did not finish")

// unlessUnfinished is err, if it ends a run.
func unlessUnfinished(err error) error {
	if errors.Is(err, ErrUnfinished) {
		return nil
	}
	return err
}

// unprocessed deals with a frame from port p whose pass came to err.
func (e *Engine) unprocessed(p *port, f *frame.Frame, err error) error {
	if !errors.Is(err, ErrUnfinished) {
		return err
	}
	e.Hops--
	e.ports[p.peer].arrived--
	e.lostOnWire(p, f, LossDevice)
	return nil
}
