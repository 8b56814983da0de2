// Package verbs gives programs on hosts of a live fabric RDMA devices. Its Server serves the library in verbs/c, which
// replaces libibverbs and librdmacm. The queue pairs are those of the hosts' NICs (hostagent). The package is empty
// except on Linux.
//
// Life cycle: Serve makes a socket in each host's network namespace, which only programs there can reach. Close ends
// all connections and waits for their goroutines; call it before the fabric ends. All objects of a connection end with
// it, and a connection ends with its process.
//
//   - Only the engine's goroutine uses the objects of a connection that a queue pair needs (regions, completion
//     queues), in functions given to Config.Do. The same applies to the state of the connection manager. A mutex
//     protects that for connections that end after the engine.
//   - The server reads and writes a program's memory through the file /proc/self/mem that the program sends. The file
//     belongs to the address space that the program opened, even after the process ends or its PID is reused.
//   - The server checks every request of a program. It never trusts the contents of memory that it shares with programs
//     (rings, the page of sleepers).
//
// Files:
//
//   - Requests: protocol.go (numbers, requests and replies), address.go (IP addresses in them), connection.go (a
//     program's connection), control.go (requests about objects).
//   - Objects: memory.go (address spaces and regions), mapping.go (memory that a region may cover), completion.go
//     (completion queues, channels), quota.go (limits of a host), pair.go (queue pairs).
//   - Hosts: server.go (sockets, devices), cm.go (the connection manager), cm_objects.go (its channels and ids).
//   - The library: library.go (its folder, and programs' environment).
package verbs
