// Package openfiles ends a program that may open so few files that Go's runtime would crash in its place: packages open
// files before main begins. Import it for that alone. It is initialized before packages whose path comes after its own
// and that open files.
//
//   - openfiles.go: the check, where there is such a limit.
package openfiles
