package kernel

// Leftover describes a namespace of a fabric whose process has ended. A program inside, a mount, or an open file keeps
// it alive.
type Leftover struct {
	Node  string `json:"node"`
	Owner int    `json:"owner"` // PID of the fabric's process
	Inode uint64 `json:"inode"`
	// Programs run inside. Remove ends them.
	Programs []Program `json:"programs"`
	// Mounts keep the namespace under a name, as `ip netns attach` does. Remove removes them.
	Mounts []string `json:"mounts"`
	// Bystanders run elsewhere, and keep the namespace by an open file or a thread. Remove does not touch them.
	Bystanders []Program `json:"bystanders"`
}

// Program describes a process.
type Program struct {
	Pid     int    `json:"pid"`
	Command string `json:"command"`
}
