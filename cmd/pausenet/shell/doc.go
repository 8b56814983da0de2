// Package shell is the prompt of a live fabric: its verbs, which a Mininet user knows, and programs on its nodes. It is Linux's:
// elsewhere the package is empty.
package shell
