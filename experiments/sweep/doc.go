// Package sweep runs scenarios at every combination of parameters' values, controllers and seeds.
//
// Load reads what a sweep is of; Points resolves every point, so that all mistakes are told before anything runs; a Runner makes
// the points that are not there yet, each perhaps in a process of its own (a Job can be sent as JSON); Write puts together what
// they came to. A point is kept if its folder has a complete run of the same configuration, program and plane: a sweep that was
// interrupted goes on where it was.
package sweep
