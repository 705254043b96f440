package cluster

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// watchdog is a shell that reads process groups from us and, once we are gone,
// kills those left and removes the folder. It outlives even a SIGKILL of the
// test, whose end closes the pipe.
type watchdog struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

const watchdogScript = `
trap '' HUP INT TERM
groups=
while read -r word group; do
  case $word in
  started) groups="$groups $group" ;;
  ended)
    left=
    for g in $groups; do [ "$g" = "$group" ] || left="$left $g"; done
    groups=$left ;;
  esac
done
for g in $groups; do kill -s KILL -- "-$g"; done
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
`

func newWatchdog(dir string) (*watchdog, error) {
	cmd := exec.Command("/bin/sh", "-c", watchdogScript, "cluster-watchdog", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	return &watchdog{cmd, pipe}, nil
}

func (w *watchdog) started(p *process) error { return w.tell("started", p) }
func (w *watchdog) ended(p *process) error   { return w.tell("ended", p) }

func (w *watchdog) tell(word string, p *process) error {
	_, err := fmt.Fprintln(w.pipe, word, p.pid())
	return err
}

// close has the watchdog remove the folder and waits for that.
func (w *watchdog) close() error {
	w.pipe.Close()
	return w.cmd.Wait()
}
