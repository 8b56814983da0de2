// Package wire holds the frame formats of the fabric, byte for byte: Ethernet, IPv4, IPv6, UDP, RoCEv2 (BTH, RETH,
// AETH, CNP, ICRC), HPCC's telemetry within it, 802.1Qbb PFC and DCON's congestion notification message.
//
// A header type is a byte slice with accessors at the standard's offsets, as in gVisor's tcpip/header. Accessors do not
// check bounds: Parse has checked the views that it returns; for others the caller must provide at least the header's
// length. The Put functions write a whole frame into the caller's buffer and return its length. Nothing here allocates,
// except NewFlowHeader, once per flow. Frames have no FCS, like captures.
//
// Everything is in network byte order except the ICRC, which is sent least significant byte first, like the FCS.
//
// Files:
//
//   - Headers: wire.go (Ethernet), ipv4.go, ipv6.go, udp.go, bth.go (with RETH and AETH), int.go (telemetry),
//     timestamp.go, grant.go (demands and grants).
//   - Parsing: parse.go, headers.go (frames with only their headers), packet.go (the result).
//   - Packets of a flow: flow.go (their common headers), data.go, control.go (ACK, NAK and CNP), brief.go (the fields
//     that differ between them), trim.go (packets without their payload), flowid.go (a flow's id in switches).
//   - Packets of queue pairs: message.go (reliable messages), datagram.go (the unreliable datagram service).
//   - Frames of links and switches: pfc.go, cnm.go, icmp.go (with ARP).
//   - Checksums: icrc.go, and crc.go (fast, for long payloads).
package wire
