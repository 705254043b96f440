package livetest

import (
	"context"
	"sync"
)

// trouble is what a server may answer instead of what it is asked for.
type trouble struct {
	mu    sync.Mutex
	busy  int    // requests still to be put off
	token string // the only one that is good; empty: all are
}

func (t *trouble) throttled() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy == 0 {
		return false
	}
	t.busy--
	return true
}

// known says whether credentials are good; who sends none is let in.
func (t *trouble) known(authorization string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token == "" || authorization == "" || authorization == "Bearer "+t.token
}

// Throttle answers the next n requests with 429 and Retry-After.
func (s *Server) Throttle(n int) {
	s.trouble.mu.Lock()
	defer s.trouble.mu.Unlock()
	s.trouble.busy = n
}

// Accept makes a token the only good one.
func (s *Server) Accept(token string) {
	s.trouble.mu.Lock()
	defer s.trouble.mu.Unlock()
	s.trouble.token = token
}

// Compact forgets the past: watches end, and cannot be taken up where they were.
func (s *Server) Compact() {
	s.data.Lock()
	s.oldest = firstVersion + len(s.changes) + 1
	s.changes = append(s.changes, change{version: s.oldest}) // a write of what nobody watches
	s.data.Unlock()
	s.CutWatches()
}

// Sever ends all watches; whoever asks for one, or for a list, waits until the
// function it returns is called. All else is answered.
func (s *Server) Sever() (back func()) {
	s.data.Lock()
	gate := make(chan struct{})
	s.gate = gate
	s.data.Unlock()
	s.CutWatches()
	return func() {
		s.data.Lock()
		defer s.data.Unlock()
		if s.gate == gate {
			s.gate = nil
		}
		close(gate)
	}
}

// admit waits until watches and lists may begin.
func (s *Server) admit(ctx context.Context) {
	s.data.Lock()
	gate := s.gate
	s.data.Unlock()
	if gate == nil {
		return
	}
	select {
	case <-gate:
	case <-ctx.Done():
	}
}

// Remove deletes an object as somebody would; what it owns goes by Play.
func (s *Server) Remove(resource, namespace, name string) bool {
	s.data.Lock()
	defer s.data.Unlock()
	i := s.find(target{resource: resource, namespace: namespace, name: name})
	if i < 0 {
		return false
	}
	s.drop(i)
	return true
}
