package cluster

import "syscall"

// ownGroup gives a child a process group and has it killed when we end.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
