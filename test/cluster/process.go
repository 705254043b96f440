package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// process is a program that runs, in a process group of its own.
type process struct {
	name string
	log  string // path
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// starts are functions to run on the thread that never ends: on Linux a child
// dies with the thread that started it.
var starts = sync.OnceValue(func() chan<- func() {
	c := make(chan func())
	go func() {
		runtime.LockOSThread()
		for fn := range c {
			fn()
		}
	}()
	return c
})

// startProcess runs a program with its output in a file of dir.
func startProcess(dir, name, path string, args []string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, out, out
	p.cmd.SysProcAttr = ownGroup()
	started := make(chan error)
	starts() <- func() { started <- p.cmd.Start() }
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.done)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// kill ends the process and what it started, and waits for its end. There is
// nothing worth saving: the folder goes too.
func (p *process) kill() {
	err := syscall.Kill(-p.pid(), syscall.SIGKILL)
	if errors.Is(err, syscall.EPERM) {
		_ = p.cmd.Process.Kill()
	}
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// tail is the end of its log.
func (p *process) tail() string {
	const lines = 20
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimSpace(string(bytes.ToValidUTF8(data, nil))), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// portTaken says that it ended because another process took its port first.
func (p *process) portTaken() bool {
	data, err := os.ReadFile(p.log)
	return err == nil && bytes.Contains(data, []byte("address already in use"))
}
