// Package suite runs scenarios under several congestion controls and seeds concurrently. It writes the report of a
// scenario as soon as its runs have ended. Suite.Overwrites reports beforehand which results of other settings would be
// lost.
package suite
