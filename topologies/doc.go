// Package topologies turns a topology spec (YAML, a builder's parameters, an import) into an immutable, validated Plan.
// A Plan holds the nodes, the links between their ports with rates and delays, and the ports through which a switch may
// forward towards each host.
//
// Builtin, Load, Parse and Decode make a Plan. Their errors hold every mistake of the spec, each with its position.
// Nodes, ports, hosts and switches have dense numbers from 0: NodeID and PortID index Plan.Nodes and Plan.Ports, and
// Node.Index is the number among hosts or among switches. PathOf, PathVia, NextHops and Hops use routes that were
// computed with the plan. RoutesOver computes routes over some of the ports, and does not change the plan.
//
//   - A Plan never changes, and any number of goroutines may read it. Its slices belong to the plan: do not write to
//     them.
//   - A host may have several ports, each an interface with its own address. Only switches forward: a host with ports
//     in two planes does not connect them. The indexes of interfaces begin with those of the hosts.
//   - A spec may name a file of HPCC's simulator, relative to the spec's folder. Parse also reads that file.
//   - Rates are in bits per second, delays in picoseconds of virtual time, one way. A framing's LineBytes returns the
//     bytes that a frame takes on a cable, and Counted those that it takes in a buffer.
//
// Files:
//
//   - A plan: plan.go, build.go (makes one from a checked spec), summary.go (in one line), view.go (for programs).
//   - Hosts' ports: interfaces.go (addresses, and the interfaces of a flow).
//   - Paths: routes.go, hpcc_routes.go (in the order of HPCC's simulator), balancing.go (how switches choose among
//     equal-cost ports), longest.go (the longest RTT), dependency.go (queues that can wait for each other, and cycles).
//   - A spec: spec.go (the file), spec_keys.go (its keys), builders.go (star, leaf-spine, fat-tree, rails, planes),
//     hpcc.go (files of HPCC's simulator), check.go (mistakes), programs.go (the environment of programs on nodes),
//     builtin.go (the built-in topologies).
package topologies
