// Package wire holds the frame formats of the fabric, byte for byte: Ethernet, IPv4, UDP, RoCEv2 (BTH, RETH, AETH, CNP,
// ICRC), HPCC's telemetry within it, 802.1Qbb PFC and DCON's congestion notification message.
//
// A header type is a byte slice with accessors at the standard's offsets, as in gVisor's tcpip/header. Accessors do not
// check bounds: a view comes from Parse, which did, or from the caller, who must hand in at least the header's length.
// The Put functions write a whole frame into the caller's buffer and return its length. Nothing here allocates, save
// NewFlowHeader, once a flow. Frames carry no FCS, like captures.
//
// Everything is in network byte order except the ICRC, which like the FCS goes out least significant byte first.
package wire
