// Package site holds the documentation's web site: hugo.yaml, layouts and static files that make pages of README.md and
// docs. It is a module of its own, so that the generator's dependencies are none of pausenet's.
//
// In the root, make site builds the site into bin/site, and make test-site checks it.
package site
