package lists

import (
	"slices"
	"strconv"
	"testing"
)

func TestMap(t *testing.T) {
	if got := Map([]int{1, 20}, strconv.Itoa); !slices.Equal(got, []string{"1", "20"}) {
		t.Errorf("got %q, want 1 and 20", got)
	}
	if got := Map([]int{}, strconv.Itoa); got != nil {
		t.Errorf("of no elements: got %q, want nil", got)
	}
}

func TestFilter(t *testing.T) {
	even := func(n int) bool { return n%2 == 0 }
	if got := Filter([]int{4, 5, 6}, even); !slices.Equal(got, []int{4, 6}) {
		t.Errorf("got %v, want 4 and 6", got)
	}
	if got := Filter([]int{5}, even); got != nil {
		t.Errorf("of odd numbers: got %v, want nil", got)
	}
}

func TestFind(t *testing.T) {
	all := []int{5, 6, 8}
	if got := Find(all, func(n *int) bool { return *n%2 == 0 }); got != &all[1] {
		t.Errorf("got %v, want the element 6", got)
	}
	if got := Find(all, func(n *int) bool { return *n > 8 }); got != nil {
		t.Errorf("got %d, want nil", *got)
	}
}

func TestFew(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for n, want := range map[int]string{0: "", 1: "a", 4: "a, b, c, d", 5: "a, b, c and 2 others"} {
		if got := Few(names[:n]); got != want {
			t.Errorf("%d names: got %q, want %q", n, got, want)
		}
	}
}
