package fluid

import (
	"cmp"
	"slices"
)

// Job represents a flow at one link. Times are in picoseconds.
type Job struct {
	Release float64 // earliest arrival of its first byte
	Work    float64 // time for which it needs the whole link
}

// LowerBound returns the least possible sum, in picoseconds, of the times from jobs' releases to their ends at one
// link, under any order of service: that of SRPT (Schrage, A proof of the optimality of the shortest remaining
// processing time discipline, 1968).
//
// If each flow of a fabric is assigned to one link of its path, the sum of the links' bounds is a bound for the
// fabric, because further links and flows only add time. It holds for any packets and any order of service.
func LowerBound(jobs []Job) float64 {
	order := slices.Clone(jobs)
	slices.SortFunc(order, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Release, b.Release), cmp.Compare(a.Work, b.Work))
	})
	var (
		sum, now float64
		heap     []Job // by remaining work
	)
	for next := 0; next < len(order) || len(heap) > 0; {
		if len(heap) == 0 {
			now = max(now, order[next].Release)
		}
		for next < len(order) && order[next].Release <= now {
			heap = pushJob(heap, order[next])
			next++
		}
		first := &heap[0]
		if end := now + first.Work; next == len(order) || end <= order[next].Release {
			now = end
			sum += now - first.Release
			heap = popJob(heap)
			continue
		}
		first.Work -= order[next].Release - now // still the least
		now = order[next].Release
	}
	return sum
}

// WeightedJob represents a flow at one link whose time counts with a weight above 0.
type WeightedJob struct {
	Job
	Weight float64
}

// WeightedLowerBound returns a lower bound of the weighted sum, in picoseconds, of the times from jobs' releases to
// their ends at one link, under any order of service. No job ends sooner than half its work after its mean busy time,
// the mean of the times at which the link serves it. The order by weight over work, with preemption, has the least
// weighted sum of mean busy times (Goemans, Queyranne, Schulz, Skutella and Wang, Single machine scheduling with
// release dates, SIAM J. Discrete Math. 15, 2002). If all jobs are released at once, the bound is the optimum.
func WeightedLowerBound(jobs []WeightedJob) float64 {
	order := slices.Clone(jobs)
	slices.SortFunc(order, func(a, b WeightedJob) int {
		return cmp.Or(cmp.Compare(a.Release, b.Release), cmp.Compare(b.Weight*a.Work, a.Weight*b.Work),
			cmp.Compare(a.Work, b.Work))
	})
	type served struct {
		WeightedJob
		left float64
	}
	var (
		sum, now float64
		waiting  []served // the last goes first
	)
	for next := 0; next < len(order) || len(waiting) > 0; {
		if len(waiting) == 0 {
			now = max(now, order[next].Release)
		}
		for next < len(order) && order[next].Release <= now {
			j := order[next]
			at, _ := slices.BinarySearchFunc(waiting, j, func(a served, b WeightedJob) int {
				return cmp.Or(cmp.Compare(a.Weight*b.Work, b.Weight*a.Work), -1)
			})
			waiting = slices.Insert(waiting, at, served{j, j.Work})
			next++
		}
		first := &waiting[len(waiting)-1]
		end := now + first.left
		if next < len(order) {
			end = min(end, order[next].Release)
		}
		sum += first.Weight * (end - now) / first.Work * ((now+end)/2 - first.Release) // its part of the mean busy time
		first.left -= end - now
		now = end
		if first.left <= 0 {
			sum += first.Weight * first.Work / 2
			waiting = waiting[:len(waiting)-1]
		}
	}
	return sum
}

func pushJob(heap []Job, j Job) []Job {
	heap = append(heap, j)
	for i := len(heap) - 1; i > 0 && heap[i].Work < heap[(i-1)/2].Work; i = (i - 1) / 2 {
		heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
	}
	return heap
}

func popJob(heap []Job) []Job {
	last := len(heap) - 1
	heap[0] = heap[last]
	heap = heap[:last]
	for i := 0; ; {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < last; c++ {
			if heap[c].Work < heap[least].Work {
				least = c
			}
		}
		if least == i {
			return heap
		}
		heap[i], heap[least] = heap[least], heap[i]
		i = least
	}
}
