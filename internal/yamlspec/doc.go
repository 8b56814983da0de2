// Package yamlspec reads the YAML files that users write: topologies and scenarios. It is strict, and it reports every
// mistake of a file at once, each with the place and the line it stands in.
//
// A file is read into a tree of Values that know where they come from. A decoder walks the tree; a key that it never
// asked for is a mistake of the user's. See Mapping for the shape of a decoder.
//
// Files:
//
//   - From a file to Values: parse.go, and gauge.go (files that are too much for the parser).
//   - Decoding: value.go (places, lists and mappings), scalar.go (texts, numbers and units), names.go (H2..H15, and
//     what a slip was to
//     be).
//   - Mistakes: problem.go, abridge.go (what is too long to be read out).
//   - Changing Values: override.go (--set), merge.go (one mapping laid over another). Writing one on a line: flow.go.
//   - Files that are no YAML: table.go (rows of columns), words.go (rows of words).
//   - Files that come with a program: library.go.
package yamlspec
