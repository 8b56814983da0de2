package ebpf

// HeaderBytes counts the first bytes of a frame that are copied to the pipelines in this process, and back. They read
// no further than the BTH, which ends at 54, and all later bytes of a packet that they generate are zero.
// TelemetryBytes counts them if switches write telemetry. Over IPv6, headers are 20 bytes longer.
const (
	HeaderBytes     = 56
	TelemetryBytes  = 96
	HeaderBytes6    = HeaderBytes + 20
	TelemetryBytes6 = TelemetryBytes + 20
)

// Sizes holds the properties of a fabric that decide the sizes of its tables.
type Sizes struct {
	Features Features
	Ports    int
	Switches int
	Hosts    int
	Leaves   int // switches with hosts
	NextHops int
	Fanouts  int // ports times ports, summed over the switches
}
