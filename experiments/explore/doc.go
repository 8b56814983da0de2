// Package explore is the machinery that package search and package tune share. It draws and changes values of
// parameters, runs candidates, several at a time, and measures them. A journal keeps every measurement, so that an
// interrupted search continues where it stopped.
//
// A candidate is the text of a scenario. Equal texts under equal controllers and seeds have equal outcomes, so the
// journal finds an outcome by a hash of these. A search that starts again makes the same decisions, reads the known
// outcomes from the journal, and continues with the first unknown one.
//
// Files:
//
//   - Values: range.go (one quantity), random.go.
//   - Texts of candidates: text.go.
//   - Runs: machine.go, quantity.go (the measured quantities), cause.go (the main cause of a result), journal.go.
package explore
