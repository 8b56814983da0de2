// Package scenario is the language of experiments: scenario files, the scenarios that come with the program, and what a scenario
// comes to under one congestion control and one seed.
//
// A scenario's life:
//
//	s, err := scenario.Load("incast", sets)     // read, resolved against its topology, each mistake with its place
//	err = scenario.Check(s, s.Controllers)      // what shows only under a controller and a seed
//	u, err := scenario.NewSetup(s, "dcqcn", 1)  // under one: constants and paths of every flow
//	v := u.Resolution()                         // for programs, and for the hash that says whether two runs are the same
//
// The files spec*.go read the YAML keys, a section each, and show them again (spec_view.go for programs, spec_describe.go for
// people). A Scenario is not changed once it has been read: WithSeed and Under give another.
//
// Of the engine the package uses what decides a flow's path and a port's thresholds; it runs nothing and opens no fabric.
package scenario
