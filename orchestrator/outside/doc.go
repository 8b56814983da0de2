// Package outside joins hosts of a live fabric to the machine's network, where the user asks for it: ports of the
// machine lead to hosts, and hosts reach what the machine reaches. It is Linux's: elsewhere the package is empty.
//
// Both are this process passing on what connections carry, from a socket in one network namespace to one in the other.
// No rule, route or interface is made on the machine, so that there is nothing to undo: all of it ends with the
// process. It is by the wall clock, and no part of the fabric: nothing of it crosses a switch.
package outside
