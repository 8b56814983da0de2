// Package topologies holds plans: immutable descriptions of fabrics. A Plan holds the nodes, the links between their
// ports with rates and delays, and the ports through which a switch may forward towards each host.
//
// New makes a Plan from a checked Blueprint. Package spec makes blueprints from YAML files. Nodes, ports, hosts and
// switches have dense numbers from 0: NodeID and PortID index Plan.Nodes and Plan.Ports, and Node.Index is the number
// among hosts or among switches. PathOf, PathVia, NextHops and Hops use routes that were computed with the plan.
// RoutesOver computes routes over some of the ports, and does not change the plan.
//
//   - A Plan never changes, and any number of goroutines may read it. Its slices belong to the plan: do not write to
//     them.
//   - A host may have several ports, each an interface with its own address. Only switches forward: a host with ports
//     in two planes does not connect them. The indexes of interfaces begin with those of the hosts.
//   - Rates are in bits per second, delays in picoseconds of virtual time, one way. A framing's LineBytes returns the
//     bytes that a frame takes on a cable, and Counted those that it takes in a buffer.
//
// Files:
//
//   - A plan: plan.go, build.go (makes one from a blueprint), summary.go (in one line), view.go (for programs),
//     programs.go (the environment of programs on nodes), builtin.go (files of the built-in topologies).
//   - Hosts' ports: interfaces.go (addresses, and the interfaces of a flow).
//   - Paths: routes.go, hpcc_routes.go (in the order of HPCC's simulator), balancing.go (how switches choose among
//     equal-cost ports), longest.go (the longest RTT), dependency.go (queues that can wait for each other, and cycles).
package topologies
