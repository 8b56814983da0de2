// Package doctor finds out whether a machine can run the kernel plane: it looks at little and tries much.
package doctor
