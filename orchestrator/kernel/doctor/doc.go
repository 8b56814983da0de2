// Package doctor checks whether a machine can run the kernel plane. Most checks try what the plane needs, rather than
// reading versions.
package doctor
