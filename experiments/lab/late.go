package lab

import (
	"fmt"
	"math"
	"os"
	"time"
)

// LatePolicy configures how many points late submissions lose. The zero value is no policy: nothing is late.
type LatePolicy struct {
	Due    time.Time // zero: nothing is late
	PerDay float64   // fraction of all points that each started day costs
}

// Apply subtracts the penalty from the points of a late submission, and records how late it is.
func (p *LatePolicy) Apply(e *Exercise, f *Found, s *Student) {
	if p.Due.IsZero() {
		return
	}
	if after := submittedAt(e, f).Sub(p.Due); after > 0 {
		s.DaysLate = int(math.Ceil(after.Hours() / 24))
	} else if f.Late {
		s.DaysLate = 1 // the export does not say how late
	}
	if s.DaysLate == 0 {
		return
	}
	s.Penalty = min(s.Points, Points(p.PerDay*float64(s.DaysLate))*s.Of)
	s.Points -= s.Penalty
	s.Warnings = append(s.Warnings,
		fmt.Sprintf("submitted %d days late (each started day counts): %v points less", s.DaysLate,
			s.Penalty))
}

// submittedAt returns the time of submission: by the platform's export, or else of the newest submitted file.
func submittedAt(e *Exercise, f *Found) (at time.Time) {
	if !f.At.IsZero() {
		return f.At
	}
	paths, _ := e.locate(f.Folders)
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}
