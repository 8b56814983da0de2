//go:build linux

package kernel

import (
	"errors"
	"fmt"

	"github.com/pausenet/pausenet/ebpf/kernel"
	"github.com/pausenet/pausenet/orchestrator/engine/fill"
	"github.com/pausenet/pausenet/topologies"
)

// BarePass makes passes without pipelines, traffic manager and engine: the programs of its port only send frames back.
// Their cost is the part of a hop that the kernel itself takes.
type BarePass struct {
	programs *kernel.Bare
	fabric   *Fabric
	into     *injector
	frames   [2][]byte
}

// NewBarePass builds a fabric from plan, of which passes use the first port. Send alternates between the two frames: a
// full data packet and an ACK stand for a hop with an ACK per packet.
func NewBarePass(plan *topologies.Plan, frames [2][]byte) (b *BarePass, err error) {
	b = &BarePass{frames: frames}
	defer CloseFailed(&b, &err)
	if b.programs, err = kernel.LoadBare(); err != nil {
		return b, err
	}
	if b.fabric, err = NewFabric(plan, FabricOptions{Hooks: HooksClsact, bare: b.programs}); err != nil {
		return b, err
	}
	return b, b.fabric.inHub(func() (err error) {
		b.into, err = newInjector()
		return err
	})
}

// Send makes n passes.
func (b *BarePass) Send(n int) error {
	out := &b.fabric.pipelines.Outbox
	for i := range n {
		if err := b.put(b.frames[i&1]); err != nil {
			return fmt.Errorf("bare pass: %w", err)
		}
		data, _, ok := out.Receive()
		for spins := 0; !ok; spins++ {
			if spins > 1<<28 {
				return errors.New("bare pass: the frame was lost")
			}
			data, _, ok = out.Receive()
		}
		copy(b.frames[i&1], data)
		out.Release()
	}
	return nil
}

func (b *BarePass) put(frame []byte) error {
	if e := b.fabric.entry; e != nil {
		return e.put(frame)
	}
	return b.into.send(fill.OuterIfindex(0), frame)
}

// Close removes the fabric.
func (b *BarePass) Close() error {
	var errs []error
	if b.into != nil {
		errs = append(errs, b.into.Close())
	}
	if b.fabric != nil {
		errs = append(errs, b.fabric.Close())
	}
	if b.programs != nil {
		errs = append(errs, b.programs.Close())
	}
	return errors.Join(errs...)
}
