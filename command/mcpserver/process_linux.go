package mcpserver

import (
	"os/exec"
	"syscall"
)

// endWithParent has the kernel end a process when the thread that starts it ends.
func endWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
