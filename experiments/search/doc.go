// Package search finds the worst cases of a family of scenarios. A family is a scenario's file with a section "search",
// which says what may vary, and what to look for.
//
// Search draws the first third of its candidates at random. The others are changes of the best candidate of each cause
// found so far (cause.go of package explore), so that a search does not find one case a hundred times. Then it shrinks
// the best case of each cause by delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing
// input", IEEE Transactions on Software Engineering 28(2), 2002).
//
// The result depends only on the family's file: not on the number of runs at a time, and not on interruptions.
//
// Files: family.go (the section), candidate.go (drawing and changing), search.go, shrink.go, result.go.
package search
