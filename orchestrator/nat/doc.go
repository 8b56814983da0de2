// Package nat connects hosts of a live fabric with the machine's network on request: ports of the machine lead to
// hosts, and hosts reach the networks of the machine. It needs Linux: elsewhere the package is empty.
//
// This process forwards the content of connections from a socket in one network namespace to one in the other. It
// creates no rule, route or interface on the machine, so there is nothing to undo: everything ends with the process. It
// works by the wall clock and is not part of the fabric: its traffic crosses no switch.
package nat
