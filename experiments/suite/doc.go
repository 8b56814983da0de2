// Package suite runs scenarios under several congestion controls and seeds, side by side, and has a report written of
// each scenario as soon as its runs have ended. Before, Overwrites says which results of other settings would be lost.
package suite
