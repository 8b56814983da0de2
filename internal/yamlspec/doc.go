// Package yamlspec reads the YAML files that users write, such as topologies and scenarios. It is strict, and reports
// every mistake of a file at once, each with its position and line.
//
// A file becomes a tree of Values that know their positions. A decoder walks the tree, and a key that it never asks for
// is a mistake of the user. See Mapping for the shape of a decoder.
//
// Files:
//
//   - From a file to Values: parse.go, gauge.go (limits for the parser).
//   - Decoding: value.go (positions, lists and mappings), scalar.go (texts, numbers and units), names.go (H2..H15, and
//     suggestions for misspelled names).
//   - Mistakes: problem.go, abridge.go (shortens long texts).
//   - Changing Values: override.go (--set), merge.go (merges mappings). Writing a Value on one line: flow.go.
//   - Files other than YAML: table.go (rows of columns), words.go (rows of words).
//   - Built-in files: library.go.
package yamlspec
