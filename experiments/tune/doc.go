// Package tune chooses parameters of congestion controllers, switches and hosts for a fabric and its traffic. The
// scenario's file has a section "tune", which says what may vary, what to improve, and which limits hold.
//
// Tune runs each candidate under the same training seeds as the file's own values, and compares the runs in pairs. A
// third of the candidates is random, the others change the best. Then it tries the neighbours of the best, one
// parameter at a time. The last such round is the sensitivity of the result. At the end, the best candidate and the
// file's own values run under seeds, and possibly in scenarios, that took no part: only this comparison shows whether
// the tuning is of use.
//
// Files: family.go (the section), tune.go, holdout.go, result.go.
package tune
