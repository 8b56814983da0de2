//go:build linux

package wallclock

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/pausenet/pausenet/hostagent/cc"
	"github.com/pausenet/pausenet/hostagent/qp"
	"github.com/pausenet/pausenet/internal/testenv"
	"github.com/pausenet/pausenet/internal/wire"
	"github.com/pausenet/pausenet/orchestrator/engine"
	"github.com/pausenet/pausenet/orchestrator/engine/paths"
	"github.com/pausenet/pausenet/vtime"
)

// program implements a program with memory from address 0 on, all of which is accessible.
type program struct {
	memory    []byte
	completed []qp.Completion
	at        []vtime.Time
	engine    *engine.Engine
}

func (p *program) part(addr uint64, n int) ([]byte, error) {
	if addr > uint64(len(p.memory)) || uint64(len(p.memory))-addr < uint64(n) {
		return nil, fmt.Errorf("%w: %d bytes at %d", qp.ErrAccess, n, addr)
	}
	return p.memory[addr:][:n], nil
}

func (p *program) Gather(pieces []qp.SGE, offset uint32, into []byte) error {
	b, err := p.part(pieces[0].Addr+uint64(offset), len(into))
	copy(into, b)
	return err
}

func (p *program) Scatter(pieces []qp.SGE, offset uint32, from []byte) error {
	b, err := p.part(pieces[0].Addr+uint64(offset), len(from))
	copy(b, from)
	return err
}

func (p *program) Allows(_, _ uint32, addr, length uint64, _ qp.Access) error {
	_, err := p.part(addr, int(length))
	return err
}

func (p *program) RemoteRead(_, _ uint32, addr uint64, into []byte) error {
	return p.Gather([]qp.SGE{{Addr: addr}}, 0, into)
}

func (p *program) RemoteWrite(_, _ uint32, addr uint64, from []byte) error {
	return p.Scatter([]qp.SGE{{Addr: addr}}, 0, from)
}

func (p *program) RemoteAtomic(uint32, uint32, uint64, qp.WorkOp, uint64, uint64) (uint64, error) {
	return 7, nil
}

func (p *program) Complete(c qp.Completion) {
	p.completed = append(p.completed, c)
	p.at = append(p.at, p.engine.Now())
}
func (p *program) Event(uint32, qp.EventKind) {}

// TestLivePairs has two programs' queue pairs carry messages over the fabric, at line rate, and over a link that loses
// frames.
func TestLivePairs(t *testing.T) {
	for _, loss := range []float64{0, 0.01} {
		t.Run(fmt.Sprint("loss ", loss), func(t *testing.T) {
			onPlanes(t, func(t *testing.T, plane string) { livePairs(t, plane, loss) })
		})
	}
}

func livePairs(t *testing.T, plane string, loss float64) {
	f := newLiveFabricOn(t, plane, livePlan(t, "small"), 1000)
	ends := [2]string{"h1", "h5"}
	var programs [2]*program
	var pairs [2]*engine.Pair
	const message, count = 256 << 10, 4
	err := f.Do(func() error {
		e := f.Engine()
		if loss > 0 {
			leaf := f.plan.Ports[f.plan.NodeByName(ends[1]).Ports[0]].Peer
			if err := e.SetLoss(int(leaf), loss); err != nil {
				return err
			}
		}
		for i, name := range ends {
			programs[i] = &program{memory: make([]byte, 2*count*message), engine: e}
			var err error
			pairs[i], err = e.OpenPair(engine.PairConfig{
				Interface: f.plan.Ports[f.plan.NodeByName(name).Ports[0]].Interface, Program: programs[i], SendDepth: 16,
				ReceiveDepth: 16,
			})
			if err != nil {
				return err
			}
		}
		random := rand.New(rand.NewPCG(1, 2))
		for i := range programs[0].memory {
			programs[0].memory[i] = byte(random.Uint32())
		}
		for i, p := range pairs {
			flow := engine.FlowConfig{
				Source: f.plan.NodeByName(ends[i]).ID, Destination: f.plan.NodeByName(ends[1-i]).ID,
				Ports:         paths.Ports{Source: wire.MinEntropyPort},
				NewController: func(int) (cc.Controller, error) { return cc.Constant(10e9), nil },
			}
			if err := p.Init(); err != nil {
				return err
			}
			if err := p.Ready(qp.Remote{QP: pairs[1-i].Number(), MTU: f.plan.MTU, Reads: 4, RNRTimer: 1}, flow); err != nil {
				return err
			}
			if err := p.Send(qp.Requester{Reads: 4, Timeout: 8, Retry: 7, RNRRetry: 7}); err != nil {
				return err
			}
		}
		for i := range count {
			at := uint64(i * message)
			pieces := []qp.SGE{{Addr: at, Length: message}}
			op := qp.WorkWrite
			if i == count-1 {
				op = qp.WorkSend
				if err := pairs[1].PostReceive(&qp.ReceiveRequest{SGEs: pieces}); err != nil {
					return err
				}
			}
			if err := pairs[0].PostSend(&qp.WorkRequest{
				ID: uint64(i), Op: op, SGEs: pieces, Remote: at,
				Signaled: true,
			}); err != nil {
				return err
			}
		}
		return pairs[0].PostSend(&qp.WorkRequest{
			ID: count, Op: qp.WorkRead, SGEs: []qp.SGE{{Addr: count * message, Length: count * message}}, Signaled: true,
			Fence: true,
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	limit := time.Now().Add(testenv.Hung)
	for done := false; !done; time.Sleep(10 * time.Millisecond) {
		if err := f.Do(func() error { done = len(programs[0].completed) == count+1; return nil }); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(limit) {
			t.Fatal("the messages have not been completed")
		}
	}
	err = f.Do(func() error {
		a, b := programs[0], programs[1]
		for i, c := range a.completed {
			if c.ID != uint64(i) || c.Status != qp.StatusOK {
				t.Errorf("completion %d is %+v", i, c)
			}
		}
		if !bytes.Equal(a.memory[:count*message], b.memory[:count*message]) ||
			!bytes.Equal(a.memory[count*message:], b.memory[:count*message]) {
			t.Error("what was written, or read, is not what there was")
		}
		// A full packet takes MTU + 24 bytes of line, 14 of Ethernet, 20 of IP, 8 of UDP, 12 of BTH and 4 of ICRC.
		best := 10e9 * float64(f.plan.MTU) / float64(f.plan.MTU+24+58)
		for i, n := range [2]int{count - 1, count} {
			from := [2]int{0, count - 1}[i]
			rate := float64(8*message*(count-1)) / (a.at[count-1] - a.at[0]).Seconds()
			if i == 1 {
				rate = float64(8*message*count) / (a.at[n] - a.at[from]).Seconds()
			}
			if loss == 0 && (rate < 0.98*best || rate > 1.001*best) {
				t.Errorf("%s at %.3g bps, and %.3g would be line rate", [2]string{"WRITE", "READ"}[i], rate, best)
			}
		}
		if n := pairs[0].Queue().Retries; (n > 0) != (loss > 0) {
			t.Errorf("%d retries", n)
		}
		if loss == 0 {
			pairs[1].Close() // the other is left for the end
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
