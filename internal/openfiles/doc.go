// Package openfiles ends the program with an error if its limit on open files is too low. Otherwise Go's runtime would
// crash, because packages open files before main begins. Import it only for this effect. Go initializes packages in the
// order of their paths, so this one precedes those with a later path.
//
//   - openfiles.go: the check, where there is such a limit.
package openfiles
