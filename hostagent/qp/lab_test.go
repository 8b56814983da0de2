package qp

import (
	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/vtime"
)

const (
	us = vtime.Microsecond
	// line sets the bits per second of the tests' ports: a byte takes 200 ps.
	line     = 40e9
	bytePS   = 200
	mtu      = 1000
	overhead = 24
)

func lineBytes(n int) int64 { return int64(max(n, 60) + overhead) }

// whole returns a frame with the given bytes.
func whole(data []byte) *frame.Frame {
	f := frame.NewPool(len(data)).Get(len(data))
	copy(f.Data(), data)
	return f
}

// control implements a congestion control with a constant rate and a window.
type control struct {
	cc.Base
	window int64
}

func (*control) Rate() float64   { return line }
func (*control) Retimes() bool   { return false }
func (c *control) Window() int64 { return c.window }
