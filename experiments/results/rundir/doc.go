// Package rundir reads and writes a run's folder: the manifest, the tables, and the sums of its files.
//
// A run first writes its manifest (Begin), so that an earlier run's files are not mistaken for its results. Then it
// writes its tables row by row (Create), on a goroutine of their own, and last the manifest again (End). Until then the
// manifest says that the run is in progress. A run that is ended early marks the manifest partial. Other files are
// written whole or not at all. Folders are opened so that no link leads out of them.
//
// A table is a CSV file, and a row of it a struct, whose tags describe the columns (package internal/table): the
// writer, the reader, the Parquet file and the page docs/files.md follow from them.
//
// A mistake in a file of results is a FileError, with its line.
//
// Files:
//
//   - The tables and their columns: rows.go; writing and reading them: csv.go, behind.go.
//   - A run's folder: output.go (its files, and the rows of some), manifest.go, json.go, sums.go (checks that its files
//     did not change since the run).
//   - Folders of results: locations.go (the parts of a run's path), overwrite.go (the error of a run that
//     would replace other results).
package rundir
