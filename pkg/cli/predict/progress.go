package predict

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// progress tells a terminal how far the reading has come, once that takes long.
type progress struct {
	w    io.Writer
	read atomic.Int64
	stop chan struct{}
	done sync.WaitGroup
}

// When progress is first shown, and how often.
const (
	patience = time.Second
	refresh  = 200 * time.Millisecond
)

func startProgress(w io.Writer) *progress {
	p := &progress{w: w, stop: make(chan struct{})}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		p.done.Go(p.show)
	}
	return p
}

func (p *progress) tell(objects int) { p.read.Store(int64(objects)) }

func (p *progress) show() {
	wait := patience
	for shown := false; ; shown = true {
		select {
		case <-p.stop:
			if shown {
				fmt.Fprint(p.w, "\r\x1b[K")
			}
			return
		case <-time.After(wait):
			fmt.Fprintf(p.w, "\r\x1b[Kreading the cluster: %s", plural(int(p.read.Load()), "object"))
			wait = refresh
		}
	}
}

// end takes the line away.
func (p *progress) end() {
	close(p.stop)
	p.done.Wait()
}
