// Package rundir reads and writes a run's folder: the manifest, the tables, and the sums of its files. It also finds
// runs below a folder of results.
//
// A run writes its manifest first (Begin), so that nobody takes what an earlier run left for its results; then its
// tables as it goes (Create), on a goroutine of their own; and last the manifest again (End). Until then the manifest
// says that the run goes on, and a run that is ended early marks it partial in its place. Files that are not written
// row by row are written whole or not at all. Folders are opened so that no link leads out of them.
//
// A table is a CSV file, and a row of it a struct, whose tags describe the columns (package internal/table): writer,
// reader, the Parquet file and the page docs/files.md follow from them.
//
// A mistake in a file of results is a FileError, with its line.
//
// Files:
//
//   - The tables and their columns: rows.go; how they are written and read: csv.go, behind.go.
//   - A run's folder: output.go (its files, and the rows of some), manifest.go, json.go, sums.go (checks that its files
//     did
//     not change since the run), differ.go (compares them with those of a second run).
//   - Where runs are below a folder of results: places.go; what would be lost there: overwrite.go.
package rundir
