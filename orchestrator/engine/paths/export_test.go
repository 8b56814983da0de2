package paths

// Exports for tests that compare with the pipelines and with HPCC's simulator.
var (
	ECMPHash = ecmpHash
	HPCCHash = hpccHash
	OwnSeed  = ownSeed
)
