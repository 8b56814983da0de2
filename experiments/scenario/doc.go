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
//   - Load alone does not make a scenario that runs: what depends on the controller, such as its constants, is found by Check. The runner,
//     the sweep and validate refuse what Check refuses, and nothing more.
//   - Load and Parse read the files that a scenario names, in the folder of the scenario's own name.
//   - A Scenario may be read by several goroutines, and by several runs at once. Nobody may write to it.
//   - Warnings are no errors: what is off but can be run. Whoever runs a scenario for people shows them.
//
// Of the engine the package uses what decides a flow's path and a port's thresholds; it runs nothing and opens no fabric.
package scenario
