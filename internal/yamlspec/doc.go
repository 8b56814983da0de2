// Package yamlspec reads the YAML files that users write: topologies and scenarios. It is strict, and it reports every
// mistake of a file at once, each with the place and the line it stands in.
//
// A file is read into a tree of Values that know where they come from. A decoder walks the tree; a key that it never
// asked for is a mistake of the user's. See Mapping for the shape of a decoder.
package yamlspec
