package fluid

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// every tries all schedules that serve at most one job in each unit of time, and returns the least sum of the jobs'
// times. done remembers states.
func every(jobs []Job, now float64, done map[string]float64) float64 {
	ones := make([]float64, len(jobs))
	for i := range ones {
		ones[i] = 1
	}
	return everyWeighted(jobs, ones, now, done)
}

// everyWeighted does the same for the least weighted sum.
func everyWeighted(jobs []Job, weights []float64, now float64, done map[string]float64) float64 {
	rest := false
	for _, j := range jobs {
		rest = rest || j.Work > 0
	}
	if !rest {
		return 0
	}
	key := fmt.Sprint(now, jobs)
	if sum, known := done[key]; known {
		return sum
	}
	least := 1e9
	for i := range jobs {
		if jobs[i].Work == 0 || jobs[i].Release > now {
			continue
		}
		jobs[i].Work--
		sum := 0.0
		if jobs[i].Work == 0 {
			sum = weights[i] * (now + 1 - jobs[i].Release)
		}
		least = min(least, sum+everyWeighted(jobs, weights, now+1, done))
		jobs[i].Work++
	}
	if now < 12 { // or leave the link idle
		least = min(least, everyWeighted(jobs, weights, now+1, done))
	}
	done[key] = least
	return least
}

// TestLowerBound compares the bound with the best of all schedules.
func TestLowerBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 80 {
		jobs := make([]Job, 1+rng.IntN(4))
		for i := range jobs {
			jobs[i] = Job{Release: float64(rng.IntN(6)), Work: float64(1 + rng.IntN(4))}
		}
		if got, want := LowerBound(jobs), every(jobs, 0, map[string]float64{}); got != want {
			t.Errorf("%v: %v, the best of all schedules %v", jobs, got, want)
		}
	}
	if got := LowerBound(nil); got != 0 {
		t.Errorf("no jobs: %v", got)
	}
}

// TestWeightedLowerBound compares the bound with the best of all schedules. It must never be above that, and it is
// that if all jobs are released at once (Smith's rule).
func TestWeightedLowerBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	loosest := 1.0
	for round := range 80 {
		jobs, weights := make([]Job, 1+rng.IntN(4)), []float64{}
		var weighted []WeightedJob
		for i := range jobs {
			jobs[i] = Job{Release: float64(rng.IntN(6)), Work: float64(1 + rng.IntN(4))}
			if round%2 == 0 {
				jobs[i].Release = 2
			}
			weights = append(weights, float64(1+rng.IntN(5)))
			weighted = append(weighted, WeightedJob{jobs[i], weights[i]})
		}
		got, want := WeightedLowerBound(weighted), everyWeighted(jobs, weights, 0, map[string]float64{})
		if got > want+1e-9 || round%2 == 0 && got < want-1e-9 {
			t.Errorf("%v: %v, the best of all schedules %v", weighted, got, want)
		}
		loosest = min(loosest, got/want)
	}
	if loosest < 0.75 {
		t.Errorf("the bound is as low as %v of the optimum", loosest)
	}
	if got := WeightedLowerBound(nil); got != 0 {
		t.Errorf("no jobs: %v", got)
	}
}
