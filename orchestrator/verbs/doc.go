// Package verbs gives programs on hosts of a live fabric RDMA devices. Its Server answers the library in verbs/c that
// takes the place of libibverbs and librdmacm; the queue pairs are those of the hosts' NICs (hostagent). It is Linux's:
// elsewhere the package is empty.
//
// Life cycle: Serve makes a socket in each host's network namespace, which only programs there reach; Close ends all
// connections and waits for their goroutines, and comes before the fabric's end. What a connection made goes with it,
// and a connection with its process.
//
//   - Everything of a connection that a queue pair asks for (regions, completion queues) is touched on the engine's
//     goroutine alone, in
//     functions given to Config.Do. So is what the connection manager knows, under a mutex for the end of connections
//     after the engine's.
//   - A program's memory is read and written by the file /proc/self/mem that the program sends: the address space that
//     it opened, and no
//     other, whatever becomes of the process and its number.
//   - Whatever a program says is checked; what it shares with the server (rings, the page of sleepers) is never
//     believed.
//
// Files:
//
//   - What is said: protocol.go (numbers, requests and replies), connection.go (one program's), control.go (requests
//     about objects).
//   - Objects: memory.go (address spaces and regions), mapping.go (what may be a region), completion.go (completion
//     queues, channels), quota.go (how much of all a host has),
//     pair.go (queue pairs).
//   - Hosts: server.go (sockets, devices), cm.go (the connection manager), cm_objects.go (its channels and ids).
//   - The library: library.go (where it is, and programs' environment).
package verbs
