// Package results reads what runs have left in their folders, and shows it: reports, comparisons, figures, means over
// seeds. It runs nothing, so that everything it makes can be made again at any time from the files.
//
// Read reads the runs of a scenario's folder as the command that made them listed them; Compare reads any runs side by
// side. Both give a page to Write. What a folder lacks is said (Missing) and is no error; a damaged file is one, a
// rundir.FileError with its line.
//
//   - A run that is partial, or whose verdict is FAIL, is shown as such and left out of means. Whoever takes numbers by
//     themselves asks
//     measure.Summary.Trusted.
//   - Files are read as they are. Reading while a run goes on in the folder finds its manifest, which says so, and
//     perhaps halves of
//     tables.
//   - Write replaces the report and the figures of the folder that it is given, and follows no link out of it.
//   - Nothing here is safe for concurrent use, but different folders do not disturb each other.
//
// Files:
//
//   - Reading: results.go (a folder as a command listed it), read.go (a run), read_tables.go (its CSV files),
//     read_settings.go (what
//     decided what it came to).
//   - Showing: page.go and page_panels.go (the page), figures.go, compare.go (any runs side by side), headline.go (the
//     measures by which
//     runs differ most, for the terminal).
//   - Before a run takes another's place: overwritten.go, differences.go.
package results
