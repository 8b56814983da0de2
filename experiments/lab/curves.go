package lab

import (
	"cmp"
	"slices"

	"github.com/pausenet/pausenet/experiments/measure"
)

// Curve holds a run's mean slowdowns by flow size, for the charts of a contest.
type Curve struct {
	Run  string    `json:"run"`
	Size []float64 `json:"size_bytes"` // ascending
	Mean []float64 `json:"slowdown_mean"`
}

// curves returns the curves of the runs that rank, and of other runs in the same scenario.
func curves(e *Exercise, runs map[string][]*measure.Summary) []Curve {
	ranked := map[string]bool{}
	for i := range e.Score {
		ranked[e.run(e.Score[i].Run).folder()] = true
	}
	var all []Curve
	for i := range e.Runs {
		r := &e.Runs[i]
		if !ranked[r.folder()] || len(runs[r.Name]) == 0 || !runs[r.Name][0].Trusted() {
			continue
		}
		c := Curve{Run: r.Name}
		for _, bin := range runs[r.Name][0].BySizeBin { // of the first seed only: the bins differ between seeds
			if n := len(c.Size); bin.Completed > 0 && (n == 0 || c.Size[n-1] < float64(bin.UpTo)) {
				c.Size, c.Mean = append(c.Size, float64(bin.UpTo)), append(c.Mean, bin.Slowdown.Mean)
			}
		}
		if len(c.Size) > 1 {
			all = append(all, c)
		}
	}
	return all
}

// Student holds a submission and its grade.
type Student struct {
	Name     string
	DaysLate int    `json:"days_late,omitempty"` // started days; Penalty has been subtracted from Points
	Penalty  Points `json:"penalty,omitempty"`
	*Grade
}

// Ranked returns the students by ascending score, without those that have none.
func Ranked(students []Student) []Student {
	ranked := slices.DeleteFunc(slices.Clone(students), func(s Student) bool { return s.Score <= 0 })
	slices.SortFunc(ranked, func(a, b Student) int {
		return cmp.Or(cmp.Compare(a.Score, b.Score), cmp.Compare(a.Name, b.Name))
	})
	return ranked
}
