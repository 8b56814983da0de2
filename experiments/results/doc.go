// Package results reads what runs have left in their folders, and shows it: reports, comparisons, figures, means over seeds. It
// runs nothing, so that everything it makes can be made again at any time from the files.
//
// Read reads the runs of a scenario's folder as the command that made them listed them; Compare reads any runs side by side. Both
// give a page to Write. What a folder lacks is said (Missing) and is no error; a damaged file is one, a rundir.FileError with its
// line.
package results
