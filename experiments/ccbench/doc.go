// Package ccbench ranks congestion controllers on generated scenarios. The public scenarios have PublicSeed. Held-out
// scenarios come from the same generators and a secret phrase, so nobody can fit a controller to them.
//
// Files:
//
//   - generate.go: generators of scenarios, by a seed.
//   - run.go: the runs, in parallel.
//   - score.go: the score of a run, against a bound that no controller can beat.
//   - rank.go: the ranking, and how stable it is.
//   - folder.go (a folder of results, which an interrupted command continues) and check.go (repeats its runs).
//   - report.go and page.go: the results as a table, for programs, and as an HTML page.
package ccbench
