// Package sweep runs scenarios at every combination of parameters' values, controllers and seeds.
//
// Load reads what a sweep is of; Points resolves every point, so that all mistakes are told before anything runs; a
// Runner makes the points that are not there yet, each perhaps in a process of its own (a Job can be sent as JSON);
// Write puts together what they came to. A point is kept if its folder has a complete run of the same configuration,
// program and plane: a sweep that was interrupted goes on where it was.
//
//   - Points resolves each point, which takes a while: 100 000 are the most.
//   - Runner.Make, Begun and Ended are called from several goroutines at once, Jobs at a time.
//   - Run returns no error. Err says which points were not made, and which have the verdict FAIL; a point that fails
//     keeps no other from
//     being made.
//   - The folder belongs to the sweep. A point that is not kept takes the place of what is in its folder.
//   - Two folders of one Plan are the same, byte for byte, but for times.csv.
//   - The mean of a Row is over the runs that can be trusted: its Verdicts say how many that are.
//
// Files:
//
//   - A sweep: sweep.go (its points), spec.go (its file), values.go (lists and ranges), places.go (points that come out
//     alike, and warnings), idle.go (settings that changed nothing).
//   - Making the points: run.go, and overwrite.go (whose results that would replace).
//   - Making them in several places: plan.go (what two folders of one sweep have in common), shard.go (a part of it),
//     merge.go.
//   - What they came to: table.go, parquet.go (that table in Parquet), report.go, times.go (how long each took, and
//     where).
package sweep
