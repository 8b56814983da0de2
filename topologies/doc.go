// Package topologies turns a topology spec (YAML, a builder's parameters, an import) into an immutable, validated Plan:
// which nodes there are, which port of which node is cabled to which, at what rate and delay, and which ports a switch
// may forward through towards each host.
//
// Builtin, Load, Parse and Decode make a Plan; their errors hold every mistake of the spec, each with its place. Nodes,
// ports, hosts and switches go by dense numbers from 0: NodeID and PortID index Plan.Nodes and Plan.Ports, and
// Node.Index is the number among hosts, or among switches. PathOf, PathVia, NextHops and Hops answer from routes that
// were computed as the plan was made. RoutesOver computes routes anew over some of the ports, and leaves the plan as it
// is.
//
//   - A Plan never changes, and any number of goroutines may read it. Its slices are the plan's own: do not write to
//     them.
//   - A host may have several ports, each an interface with an address of its own. Switches alone forward: hosts that
//     have a port each in two
//     planes do not join them. The interfaces' indexes begin with the hosts' own.
//   - A spec may name a file of HPCC's simulator, from the folder of the spec's own name. Parse reads it too.
//   - Rates are bits per second, delays picoseconds of virtual time, one way. LineBytes of the framing says what a
//     frame costs on a cable,
//     Counted what it takes of a buffer: they differ.
//
// Files:
//
//   - A plan: plan.go, build.go (how a checked spec becomes one), summary.go (in a line), view.go (as it resolves).
//   - Hosts' ports: interfaces.go (addresses, and by which a flow goes).
//   - Paths: routes.go, hpcc_routes.go (in the order of HPCC's simulator), balancing.go (how switches choose among
//     equal
//     ones), longest.go (the longest RTT), dependency.go (which queues can wait for which, and cycles).
//   - A spec: spec.go (the file), spec_keys.go (its keys), builders.go (star, leaf-spine, fat-tree, rails, planes),
//     hpcc.go (files of HPCC's simulator), check.go (what keeps it from being a plan), programs.go (what programs on
//     nodes find); builtin.go has those that come with the program.
package topologies
