// Package report writes what a scenario's runs came to as one self-contained HTML page: the controllers side by side, on
// the same scales. It also writes each plot as a stand-alone SVG.
//
// The page needs no network, no script and no colour to be read. It has no clock in it: equal runs give equal bytes,
// except for the wall-clock seconds a caller chooses to put into Speed. It knows nothing of any scenario: every word
// about what the plots mean comes from the caller.
package report
