// Package suite runs scenarios under several congestion controls and seeds concurrently. It writes the report of a
// scenario as soon as its runs have ended. Before the runs, Suite.Overwrites reports whether the suite would replace
// results of another configuration.
package suite
