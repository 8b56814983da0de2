// Package results reads the folders of runs and shows their contents: reports, comparisons, figures, means over seeds.
// It runs nothing, so its output can be rebuilt from the files at any time.
//
// Read reads the runs of a scenario's folder, as listed by the command that made them. Compare reads any runs side by
// side. Both return a page with a method Write. A missing file is not an error: it is listed in Missing. A damaged file
// is an error, a rundir.FileError with its line.
//
//   - A run that is partial, or whose verdict is FAIL, is shown as such and left out of means. Callers that use numbers
//     themselves check measure.Summary.Trusted.
//   - Files are read as they are. During a run, the folder has a manifest that says so, and maybe incomplete tables.
//   - Write replaces the report and the figures of the given folder, and follows no link out of it.
//   - Nothing here is safe for concurrent use in one folder. Different folders are independent.
//
// Files:
//
//   - Reading: results.go (a folder as a command listed it), read.go (a run), read_tables.go (its CSV files),
//     read_settings.go (its settings).
//   - Showing: page.go and page_panels.go (the page), figures.go, compare.go (any runs side by side), headline.go (the
//     measures by which runs differ most, for the terminal).
//   - Before a run replaces another: overwritten.go, differences.go.
package results
