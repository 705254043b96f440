package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"
)

// Bar shows a terminal how much of a long task is done; elsewhere it does nothing.
type Bar struct {
	w    io.Writer
	noun string
	all  int
	done atomic.Int64
	stop chan struct{}
	over sync.WaitGroup
}

// When a bar is first shown, how often it is drawn, and its columns.
const (
	barPatience = 500 * time.Millisecond
	barRefresh  = 100 * time.Millisecond
	barColumns  = 40
)

// StartBar begins a task of so many things.
func StartBar(w io.Writer, noun string, all int) *Bar {
	b := &Bar{w: w, noun: noun, all: all, stop: make(chan struct{})}
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		b.over.Go(b.show)
	}
	return b
}

// Tell says how many are done. Any goroutine may, in any order.
func (b *Bar) Tell(done int) {
	for {
		was := b.done.Load()
		if int64(done) <= was || b.done.CompareAndSwap(was, int64(done)) {
			return
		}
	}
}

// End takes the bar away.
func (b *Bar) End() {
	close(b.stop)
	b.over.Wait()
}

func (b *Bar) show() {
	wait := barPatience
	for shown := false; ; shown = true {
		select {
		case <-b.stop:
			if shown {
				fmt.Fprint(b.w, "\r\x1b[K")
			}
			return
		case <-time.After(wait):
			fmt.Fprint(b.w, "\r\x1b[K"+b.line())
			wait = barRefresh
		}
	}
}

// line is [#####     ] 120/1000 runs.
func (b *Bar) line() string {
	done := int(b.done.Load())
	full := 0
	if b.all > 0 {
		full = done * barColumns / b.all
	}
	return fmt.Sprintf("[%s%s] %d/%d %s", strings.Repeat("#", full), strings.Repeat(" ", barColumns-full), done, b.all, b.noun)
}
