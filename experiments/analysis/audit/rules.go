package audit

// Rule represents an entry of the catalogue.
type Rule struct {
	ID       string
	Severity Severity // of most of its findings
	Title    string
	Source   string // standard's clause, manual or paper
	check    func(*auditor)
}

// Rules lists the catalogue, in the order of docs/audit.md.
var Rules = []Rule{
	{"headroom", Error, "headroom holds everything in flight after XOFF", "IEEE 802.1Qbb-2011, annex O", checkHeadroom},
	{
		"headroom-order", Warning, "headroom does not shrink with a longer cable or a higher rate",
		"IEEE 802.1Qbb-2011, annex O", checkOrder,
	},
	{
		"headroom-pool", Warning, "the shared headroom pool holds the headroom of several priority groups",
		"SONiC, Reclaim reserved buffer and shared headroom pool designs", checkSharedPool,
	},
	{
		"profile", Error, "each lossless priority has a lossless profile, and no other group has one",
		"SONiC Configuration.md, BUFFER_PG", checkProfiles,
	},
	{
		"threshold", Error, "XOFF, XON and alpha fit the buffer", "IEEE 802.1Q-2018, 36.2; Choudhury and Hahne 1998",
		checkThresholds,
	},
	{"ecn-first", Error, "ECN marks before PFC pauses", "Zhu et al. 2015 (DCQCN), section 4", checkECN},
	{
		"ecn-queue", Warning, "lossless queues mark, and do not drop", "RFC 3168, section 7; Zhu et al. 2015, section 4",
		checkWRED,
	},
	{
		"pfc-ends", Error, "both ends of a cable have PFC on the same priorities", "IEEE 802.1Q-2018, 36.1.3 and 38.6.4",
		checkEnds,
	},
	{
		"class", Error, "RoCE's DSCP is in the same lossless class at every hop", "IEEE 802.1Q-2018, 36.1.1; RFC 2474",
		checkClass,
	},
	{"trust", Error, "NIC and switch classify by DSCP", "RFC 2474; NVIDIA, mlnx_qos manual", checkTrust},
	{
		"cnp", Warning, "CNPs have a queue ahead of data's",
		"InfiniBand Architecture 1.4, annex A17.9; Zhu et al. 2015, section 5", checkCNP,
	},
	{"watchdog", Warning, "lossless ports have a PFC watchdog", "SONiC, PFC Watchdog design", checkWatchdog},
	{
		"watchdog-time", Error, "the watchdog waits longer than the longest legitimate pause", "SONiC, PFC Watchdog design",
		checkWatchdogTime,
	},
	{
		"mtu", Error, "both ends of a cable have the same MTU", "RFC 4638, section 3; InfiniBand Architecture 1.4, 9.7",
		checkMTU,
	},
	{"speed", Error, "both ends of a cable have the same rate", "IEEE 802.3-2018, clause 73", checkSpeed},
	{"fec", Error, "both ends of a cable have the same FEC", "IEEE 802.3-2018, clauses 74, 91 and 108", checkFEC},
	{"cable", Warning, "both ends agree on the length of a cable", "IEEE 802.1Qbb-2011, annex O", checkCable},
	{"ecmp", Warning, "tiers of switches hash with different seeds", "RFC 2992; SONiC, switch.json.j2", checkECMP},
	{"reference", Error, "rows that others name exist", "SONiC Configuration.md", checkReferences},
	{"unread", Note, "each statement about classes, PFC and buffers is read", "docs/audit.md", checkUnread},
	{"topology", Warning, "the scheduler's topology agrees with the cables", "Slurm, topology.conf(5)", checkTree},
	{"port", Warning, "cables lead to ports that exist and are up", "IEEE 802.1AB-2016", checkPorts},
}
