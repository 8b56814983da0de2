// Package spec reads topology files: YAML with a builder's parameters, nodes and links, or the name of a file of HPCC's
// simulator.
//
// Builtin, Load, Parse and Decode make a plan (package topologies). Their errors hold every mistake of the file, each
// with its position. A topology may name a file of HPCC's simulator, relative to its own folder. Parse also reads that
// file.
//
// Files:
//
//   - spec.go (the file), rows.go (its keys), check.go (mistakes), builtin.go (the built-in topologies).
//   - builders.go (star, leaf-spine, fat-tree, rails, planes), hpcc.go (files of HPCC's simulator), programs.go (the
//     environment of programs on nodes).
package spec
