package kernel

// Leftover is a namespace of a fabric whose process is gone. It lives on because something holds it: a program that was
// started inside, a mount, or an open file.
type Leftover struct {
	Node  string `json:"node"`
	Owner int    `json:"owner"` // the pid that the fabric's process had
	Inode uint64 `json:"inode"`
	// Programs run inside; they are ended.
	Programs []Program `json:"programs"`
	// Mounts keep the namespace under a name, as `ip netns attach` does; they are removed.
	Mounts []string `json:"mounts"`
	// Bystanders run elsewhere and hold the namespace with an open file or a thread; they are left alone.
	Bystanders []Program `json:"bystanders"`
}

// Program is a process.
type Program struct {
	Pid     int    `json:"pid"`
	Command string `json:"command"`
}
