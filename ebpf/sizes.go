package ebpf

// HeaderBytes is how much of a frame is copied for the pipelines in process and back: they look at no more than the
// BTH, which ends at 54. A generated packet is longer only by zeros. TelemetryBytes is how much of it where switches
// stamp telemetry, which ends there. Over IPv6 all ends 20 bytes later.
const (
	HeaderBytes     = 56
	TelemetryBytes  = 96
	HeaderBytes6    = HeaderBytes + 20
	TelemetryBytes6 = TelemetryBytes + 20
)

// Sizes holds the numbers of table entries that a fabric needs, and their causes.
type Sizes struct {
	Features Features
	Ports    int
	Switches int
	Hosts    int
	Leaves   int // switches with hosts
	NextHops int
	Fanouts  int // ports times ports, summed over the switches
}
