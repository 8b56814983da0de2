package partition

import (
	"reflect"
	"testing"

	"github.com/pausenet/pausenet/vtime"
)

// TestSharesFollowTheLoad shares out four partitions among two workers, at first by number, and after a while by
// their events.
func TestSharesFollowTheLoad(t *testing.T) {
	s := NewShares(2, [][]int32{{0, 1, 2, 3}})
	if got, want := s.Next(0), [][]int32{{0, 2}, {1, 3}}; !reflect.DeepEqual(got, want) {
		t.Fatalf("shares %v, want %v", got, want)
	}
	events := []int64{400, 100, 400, 100}
	for range 2 * checkEvery {
		for p, n := range events {
			s.Count(int32(p), n)
		}
		s.Next(0)
	}
	if got, want := s.Next(0), [][]int32{{0, 1}, {2, 3}}; !reflect.DeepEqual(got, want) {
		t.Errorf("shares %v, want %v", got, want)
	}
	// Partition 2 has nothing to do before 10 us.
	due := []vtime.Time{0, 0, 10 * vtime.Microsecond, 0}
	sum, largest, n := s.Load(0, due, 10*vtime.Microsecond)
	if n != 3 || sum < 590 || sum > 600 || largest < 395 || largest > 400 {
		t.Errorf("%d events expected in %d partitions, %d in one; want about 600 in 3, 400 in one", sum, n, largest)
	}
}
