package calendar

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/pausenet/pausenet/vtime"
)

// TestQueueOrdersEvents compares any sequence of pushes and pops with a sorted list.
func TestQueueOrdersEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.SampledFrom([]float64{1, 1e6, 1e9, 1e13}).Draw(t, "events per second")
		ahead := rapid.SampledFrom([]vtime.Time{0, vtime.Microsecond, vtime.Millisecond, vtime.Second}).Draw(t, "ahead")
		q := New(rate, ahead)
		// Delays within a bucket, within the ring, and beyond it.
		delay := rapid.OneOf(rapid.Int64Range(0, 2), rapid.Int64Range(0, 1<<22), rapid.Int64Range(0, 1<<40))
		var model []Event
		now := vtime.Time(0)
		for seq := range rapid.Uint64Range(1, 300).Draw(t, "steps") {
			if len(model) > 0 && rapid.IntRange(0, 2).Draw(t, "pop") == 0 {
				want := model[0]
				if at := q.Next(); at != want.At {
					t.Fatalf("Next() = %v, want %v", at, want.At)
				}
				if got := q.Pop(); got != want {
					t.Fatalf("Pop() = %+v, want %+v", got, want)
				}
				now, model = want.At, model[1:]
				continue
			}
			e := Event{
				At: now + vtime.Time(delay.Draw(t, "delay")), Seq: seq<<8 + rapid.Uint64Range(0, 255).Draw(t, "seq"),
				ID: int32(seq), Kind: uint8(seq),
			}
			e.Seq ^= rapid.SampledFrom([]uint64{0, 1 << 40}).Draw(t, "class") // events of one time do not come in their order
			q.Push(e)
			model = append(model, e)
			slices.SortFunc(model, func(a, b Event) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Seq, b.Seq)) })
		}
		for _, want := range model {
			if got := q.Pop(); got != want {
				t.Fatalf("Pop() = %+v, want %+v", got, want)
			}
		}
		if at := q.Next(); at != vtime.Never {
			t.Fatalf("Next() = %v of an empty queue", at)
		}
	})
}

// TestQueueAllocatesNothing checks that a queue at work reuses its memory.
func TestQueueAllocatesNothing(t *testing.T) {
	q := New(1e8, 10*vtime.Microsecond)
	at, seq := vtime.Time(0), uint64(0)
	step := func() {
		for _, delay := range []vtime.Time{vtime.Nanosecond, vtime.Microsecond, 5 * vtime.Microsecond, vtime.Millisecond} {
			seq++
			q.Push(Event{At: at + delay, Seq: seq})
		}
		for range 4 {
			at = q.Pop().At
		}
	}
	for range 1000 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n > 0 {
		t.Errorf("%v allocations in 4 pushes and pops", n)
	}
}
