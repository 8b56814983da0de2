// Package sweep runs scenarios at every combination of parameters' values, controllers and seeds.
//
// Load reads a sweep. Points resolves every point, so that all mistakes are reported before anything runs. A Runner
// makes the missing points, each possibly in a process of its own, because a Job can be sent as JSON. Write combines
// the results. A point is kept if its folder has a complete run of the same configuration, program and plane, so an
// interrupted sweep continues where it stopped.
//
//   - Points takes a while, because it resolves each point. A sweep has at most 100 000 points.
//   - Several goroutines, up to Jobs, call Runner.Make, Started and Ended at once.
//   - Run returns no error, and a failed point does not stop the others. Err lists the points that were not made or
//     have the verdict FAIL.
//   - The folder belongs to the sweep. A point that is not kept replaces the contents of its folder.
//   - Two folders of one Plan are equal, byte for byte, except for times.csv.
//   - The mean of a Row is over the trusted runs; its Verdicts hold their number.
//
// Files:
//
//   - A sweep: sweep.go (its points), spec.go (its file), values.go (lists and ranges), equal.go (equal points, and
//     warnings), idle.go (settings without effect).
//   - Making the points: run.go, overwrite.go (results that would be replaced).
//   - Several machines: plan.go (what two folders of one sweep share), shard.go (a part of a sweep), merge.go.
//   - Results: table.go, parquet.go (the table in Parquet), report.go, times.go (time and machine of each point).
package sweep
