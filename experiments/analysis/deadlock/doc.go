// Package deadlock proves that a lossless fabric cannot deadlock, or finds the cycles of buffers that let it.
//
// A buffer here is an egress queue of a switch port and a priority, together with the ingress account at the other end
// of the link that pauses it. It depends on another if a frame can arrive by the first and leave by the second. Without
// a cycle of dependencies there is no deadlock (Dally and Seitz, "Deadlock-Free Message Routing in Multiprocessor
// Interconnection Networks", IEEE Transactions on Computers, 1987). With one there may be (Hu et al., "Deadlocks in
// Datacenter Networks: Why Do They Form, and How to Avoid Them", HotNets 2016).
//
// Prove examines every set of up to k failed links. It returns orders of the buffers in which each comes before those
// that it depends on, or the cycles. Demonstrate writes a scenario that fills a cycle, and runs it. Remedy computes
// what would exclude the cycles, and Storm which NICs one NIC can stop. Package certificate checks the orders without
// any code of this package.
//
// Files:
//
//   - What can wait for what: graph.go (dependencies, orders, cycles) and classes.go (traffic by priority).
//   - Proofs: prove.go, symmetry.go (cases with the same result) and certify.go (certificates).
//   - Cycles: demonstrate.go (runs), harmless.go (flows that are too small) and remedy.go.
//   - Storms: storm.go.
package deadlock
