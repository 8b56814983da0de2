// Package rundir is what a run leaves in its folder: the manifest, the columns of the CSV files, and where runs are below a
// folder of results. What runs writes by it, what shows reads by it.
//
// A run writes its manifest first (Begin), so that nobody takes what an earlier run left for its results; then the CSV files as
// it goes (Create), on a goroutine of their own; and last the manifest again (End). Until then the manifest says that the run goes on, and a run that is ended
// early marks it partial in its place. Files that are not written row by row are written whole or not at all. Folders are opened
// so that no link leads out of them.
//
// A mistake in a file of results is a FileError, with its line.
//
// Where what is:
//
//   - A run's folder: output.go (its CSV files), why.go (where flows' time went), qps.go (flows of several QPs), recovery.go (what selective
//     repeat met), manifest.go, json.go, sums.go (whether its files are as the run left them),
//     differ.go (whether they are what the run writes when it is made again).
//   - How tables are written and read: csv.go, behind.go; what is in their columns: columns.go.
//   - Where runs are below a folder of results: places.go; what would be lost there: overwrite.go.
package rundir
