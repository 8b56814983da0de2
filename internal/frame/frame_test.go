package frame_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/internal/frame"
	"github.com/pausenet/pausenet/internal/wire"
)

// Any use of a pool and two queues, against slices.
func TestPoolAndQueues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size = 256
		pool := frame.NewPool(size)
		kept := size
		switch rapid.IntRange(0, 2).Draw(t, "kept") {
		case 1:
			pool.HeadersOnly(false)
			kept = wire.HeaderBytes
		case 2:
			pool.HeadersOnly(true)
			kept = wire.LongHeaderBytes
		}
		var form wire.Form
		var queues [2]frame.Queue
		var model [2][]*frame.Frame
		out := map[*frame.Frame]byte{}
		var free []*frame.Frame // taken out of a queue, not put back yet
		serial := byte(0)
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			i := rapid.IntRange(0, 1).Draw(t, "queue")
			if rapid.IntRange(0, 9).Draw(t, "newest") == 0 {
				f, n := queues[i].PopNewest(), len(model[i])
				if n == 0 && f != nil || n > 0 && f != model[i][n-1] {
					t.Fatal("PopNewest does not take the newest frame")
				}
				if n > 0 {
					model[i] = model[i][:n-1]
					free = append(free, f)
				}
			}
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				n := rapid.IntRange(0, 9000).Draw(t, "size")
				f := pool.GetBrief(n, &form, 5)
				if out[f] != 0 {
					t.Fatal("a frame was handed out twice")
				}
				if int(f.Length) != n || f.Data() != nil || f.Form != &form || f.Brief != 5 || f.Control || f.InPort != -1 ||
					f.Entry != 0 {
					t.Fatalf("a fresh brief frame is %+v", f)
				}
				f.Control, f.InPort, f.Entry = true, 7, 9
				out[f] = 255
				queues[i].Push(f)
				model[i] = append(model[i], f)
			case 1:
				n := rapid.IntRange(0, size).Draw(t, "size")
				f := pool.Get(n)
				if out[f] != 0 {
					t.Fatal("a frame was handed out twice")
				}
				if int(f.Length) != n || len(f.Data()) != min(n, kept) || f.Form != nil || f.Control || f.InPort != -1 ||
					f.Entry != 0 {
					t.Fatalf("a fresh frame is %+v", f)
				}
				serial = serial%254 + 1
				for at := range f.Data() {
					f.Data()[at] = serial
				}
				f.Control, f.InPort, f.Entry = true, 7, 9
				out[f] = serial
				queues[i].Push(f)
				model[i] = append(model[i], f)
			case 2, 3:
				var want *frame.Frame
				if len(model[i]) > 0 {
					want, model[i] = model[i][0], model[i][1:]
				}
				if queues[i].Head() != want {
					t.Fatal("the head is not the first")
				}
				if got := queues[i].Pop(); got != want {
					t.Fatal("not the first")
				}
				if want != nil {
					free = append(free, want)
				}
			case 4:
				if len(free) > 0 {
					f := free[len(free)-1]
					free = free[:len(free)-1]
					delete(out, f)
					pool.Put(f)
				}
			}
			for i := range queues {
				var bytes int64
				var got []*frame.Frame
				queues[i].Each(func(f *frame.Frame) { got = append(got, f) })
				for _, f := range model[i] {
					bytes += int64(f.Length)
				}
				if !slices.Equal(got, model[i]) || queues[i].Bytes != bytes || int(queues[i].Packets) != len(model[i]) {
					t.Fatalf("%d packets of %d bytes queued, want %d of %d", queues[i].Packets, queues[i].Bytes, len(model[i]), bytes)
				}
			}
			if pool.Out() != len(out) {
				t.Fatalf("%d frames out, want %d", pool.Out(), len(out))
			}
		}
		// Nobody wrote into another's memory.
		for f, serial := range out {
			for _, b := range f.Data() {
				if b != serial {
					t.Fatal("two frames share memory")
				}
			}
		}
	})
}

// Frames keep to their part of the memory, whatever is appended to them.
func TestFramesDoNotOverlap(t *testing.T) {
	pool := frame.NewPool(100)
	frames := make([]*frame.Frame, 200)
	for i := range frames {
		frames[i] = pool.Get(1)
		if cap(frames[i].Data()) != 100 {
			t.Fatalf("room for %d bytes", cap(frames[i].Data()))
		}
		_ = append(frames[i].Data(), make([]byte, 100)...)
	}
	for i, f := range frames {
		f.Data()[0] = byte(i)
	}
	for i, f := range frames {
		if f.Data()[0] != byte(i) {
			t.Fatal("two frames share memory")
		}
	}
}

func TestPutTwicePanics(t *testing.T) {
	pool := frame.NewPool(64)
	f := pool.Get(64)
	pool.Put(f)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	pool.Put(f)
}

func TestNoFrameIsTooLong(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a frame longer than the pool's size")
		}
	}()
	frame.NewPool(64).Get(65) // with headers only it would be kept in part
}

// What a pool keeps of its frames is settled before the first.
func TestHeadersOnlyComesFirst(t *testing.T) {
	pool := frame.NewPool(1500)
	pool.Get(100)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	pool.HeadersOnly(false)
}

// Once the pool has grown nothing allocates.
func TestNoAllocation(t *testing.T) {
	for _, headersOnly := range []bool{false, true} {
		pool := frame.NewPool(1500)
		if headersOnly {
			pool.HeadersOnly(false)
		}
		noAllocation(t, pool)
	}
}

func noAllocation(t *testing.T, pool *frame.Pool) {
	t.Helper()
	var q frame.Queue
	cycle := func() {
		for range 500 {
			q.Push(pool.Get(1000))
		}
		for f := q.Pop(); f != nil; f = q.Pop() {
			pool.Put(f)
		}
	}
	cycle()
	if n := testing.AllocsPerRun(20, cycle); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
