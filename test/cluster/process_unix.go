//go:build unix && !linux

package cluster

import "syscall"

// ownGroup gives a child a process group; the watchdog sees to its end.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
