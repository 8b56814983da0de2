package lab

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pausenet/pausenet/experiments/measure"
	"github.com/pausenet/pausenet/internal/testenv"
)

// class writes submissions of trials' controllers into folders, by the trial's file.
func class(t *testing.T, folder string, names ...string) []Found {
	t.Helper()
	var all []Found
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join("teacher/tournament/trials", name+".star"))
		if name == "crashes" {
			data, err = []byte("def init(flow):\n    flow.rate = path.line_rate\n\ndef on_ack(flow, ack):\n    flow.rate = 1 // 0\n"), nil
		}
		own := filepath.Join(folder, name)
		if err == nil {
			err = os.Mkdir(own, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(own, "control.star"), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, Found{Name: name, Folders: []string{own}})
	}
	return all
}

// TestTournament checks that a class has one ranking, in any order and with any number of jobs, and another seed's is
// about as fair: who never backs off, sends nothing or fails gets nothing, and a controller that shares wins.
func TestTournament(t *testing.T) {
	testenv.WholeScenario(t)
	e, err := Builtin("tournament")
	if err != nil {
		t.Fatal(err)
	}
	found := class(t, t.TempDir(), "quick", "window-one", "line", "half", "one-bit", "crashes", "halves", "onack")
	o := TournamentOptions{Seed: 1, Rounds: 1, Jobs: 1}
	first, err := e.Tournament(t.Context(), found, o)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(found)
	o.Jobs = 2
	again, err := e.Tournament(t.Context(), found, o)
	if err != nil || !reflect.DeepEqual(first, again) {
		t.Errorf("another order and 2 jobs:\n%+v\n%+v\n%v", first, again, err)
	}
	o.Seed = 2
	other, err := e.Tournament(t.Context(), found, o)
	if err != nil || reflect.DeepEqual(first, other) {
		t.Errorf("another seed: %+v, %v", other, err)
	}
	for _, standings := range [][]Standing{first, other} {
		for i, s := range standings {
			good := slices.Contains([]string{"quick", "window-one"}, s.Name)
			if (i < 2) != good || good && s.Points < 25 {
				t.Errorf("%d: %+v", i, s)
			}
			if slices.Contains([]string{"line", "one-bit", "crashes", "onack"}, s.Name) && s.Points > 1 {
				t.Errorf("%+v", s)
			}
			if bad := s.Name == "crashes" || s.Name == "onack"; (s.Problem != "") != bad || bad == (s.Games > 0) {
				t.Errorf("%+v", s)
			}
		}
	}
}

// TestNoTournament checks exercises whose submissions cannot play.
func TestNoTournament(t *testing.T) {
	e, err := Builtin("aimd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Tournament(t.Context(), nil, TournamentOptions{Rounds: 1}); err == nil ||
		!strings.Contains(err.Error(), "aimd lacks one controller or the runs shared, home and quiet") {
		t.Error(err)
	}
}

// TestSeats checks that players are at each place equally often, and meet different ones.
func TestSeats(t *testing.T) {
	const seats, players = 4, 12
	at, met := map[[2]int]int{}, map[[2]int]bool{}
	of := deal(slices.Collect(rangeOf(players)), seats)
	for round := range seats {
		for game := range players / seats {
			all := lineup(of, round, game, players)
			for place, k := range all {
				at[[2]int{k, place}]++
				for _, other := range all {
					met[[2]int{k, other}] = true
				}
			}
		}
	}
	for k := range players {
		for place := range seats {
			if at[[2]int{k, place}] != 1 {
				t.Errorf("player %d was at place %d %d times", k, place, at[[2]int{k, place}])
			}
		}
	}
	if len(met) < players*6 {
		t.Errorf("%d pairs met, want %d and more", len(met), players*6)
	}
	if got := lineup(deal([]int{7, 9}, seats), 1, 0, 2); !slices.Equal(got, []int{-1, 7, 9, -1}) {
		t.Errorf("two players: %v", got)
	}
}

func rangeOf(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// TestShares checks that a greedy player costs its own points, not those of the others.
func TestShares(t *testing.T) {
	of := func(goodputs ...float64) *measure.Summary {
		s := &measure.Summary{ByTag: map[string]measure.FlowStatistics{}}
		for i, x := range goodputs {
			s.ByTag["place"+string(rune('0'+i))] = measure.FlowStatistics{Goodput: x}
		}
		return s
	}
	for _, c := range []struct {
		goodputs, want []float64
	}{
		{[]float64{10, 10, 10, 10}, []float64{1, 1, 1, 1}},
		{[]float64{28, 4, 4, 4}, []float64{0, 1, 1, 1}},
		{[]float64{0, 10, 10, 10}, []float64{0, 8 / 9.0, 8 / 9.0, 8 / 9.0}}, // they take what it leaves
		{[]float64{28, 2, 5, 5}, []float64{0, 0.5 / 0.9, 1, 1}},
		{[]float64{16, 8, 8, 8}, []float64{0.4 / 0.75, 1, 1, 1}},
		{[]float64{0, 0, 0, 0}, []float64{0, 0, 0, 0}},
	} {
		for i, share := range shares(of(c.goodputs...), len(c.goodputs)) {
			if got := shareCredit(share); math.Abs(got-c.want[i]) > 1e-9 {
				t.Errorf("%v: place %d has the credit %g, want %g", c.goodputs, i, got, c.want[i])
			}
		}
	}
}
