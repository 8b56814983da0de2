// Package wire holds the frame formats of the fabric, byte for byte: Ethernet, IPv4, IPv6, UDP, RoCEv2 (BTH, RETH,
// AETH, CNP, ICRC), HPCC's telemetry within it, 802.1Qbb PFC and DCON's congestion notification message.
//
// A header type is a byte slice with accessors at the standard's offsets, as in gVisor's tcpip/header. Accessors do not
// check bounds: a view comes from Parse, which did, or from the caller, who must hand in at least the header's length.
// The Put functions write a whole frame into the caller's buffer and return its length. Nothing here allocates, save
// NewFlowHeader, once a flow. Frames carry no FCS, like captures.
//
// Everything is in network byte order except the ICRC, which like the FCS goes out least significant byte first.
//
// Files:
//
//   - Headers: wire.go (Ethernet), ipv4.go, ipv6.go, udp.go, bth.go (with RETH and AETH), int.go (telemetry),
//     timestamp.go, grant.go (demands and grants).
//   - Reading: parse.go, headers.go (where only the headers are there), packet.go (what comes of it).
//   - Packets of a flow: flow.go (what they have in common), data.go, control.go (ACK, NAK and CNP), brief.go (what one
//     of them has of its
//     own); message.go (those of queue pairs of messages); datagram.go (those of the unreliable datagram service);
//     trim.go (what is left of one
//     without its payload); flowid.go is what switches call a flow.
//   - Frames of links and switches: pfc.go, cnm.go, icmp.go (with ARP).
//   - Checksums: icrc.go, and crc.go (of long payloads, quickly).
package wire
