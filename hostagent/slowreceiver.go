package hostagent

import (
	"errors"

	"github.com/pausenet/pausenet/internal/schema"
	"github.com/pausenet/pausenet/units"
)

// SlowReceiver describes a NIC that accepts frames below line rate, as behind a slow bus. It buffers the other frames,
// and pauses its switch or grants fewer credits before the buffer is full. A healthy NIC accepts every frame as it
// arrives.
type SlowReceiver struct {
	Rate      units.Rate // of frames without FCS
	Buffer    units.Bytes
	XOFF, XON units.Bytes // thresholds of the buffer, as for a switch; negative before Complete: the default
}

// NewSlowReceiver returns a receiver with defaults, to be resolved by Complete, and without a rate.
func NewSlowReceiver() SlowReceiver { return SlowReceiver{Buffer: 512 * units.KB, XOFF: -1, XON: -1} }

// Complete resolves the thresholds that are unset from the buffer.
func (r *SlowReceiver) Complete() {
	if r.XOFF < 0 {
		r.XOFF = r.Buffer / 2
	}
	if r.XON < 0 {
		r.XON = r.XOFF / 2
	}
}

// Validate checks the rules between the thresholds and the buffer. It returns all errors, as joined FieldErrors of a
// fault. settings.CheckReceiver checks bounds too.
func (r *SlowReceiver) Validate() (err error) {
	if r.XOFF > r.Buffer {
		err = schema.Errorf("receiver.xoff", "%v is above receiver.buffer %v", r.XOFF, r.Buffer)
	}
	if r.XON >= r.XOFF {
		err = errors.Join(err, schema.Errorf("receiver.xon", "%v must be below receiver.xoff %v", r.XON, r.XOFF))
	}
	return err
}
