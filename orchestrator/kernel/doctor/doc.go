// Package doctor checks whether a machine can run the kernel plane. It mostly tries things, rather than reading
// versions.
package doctor
