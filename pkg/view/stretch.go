package view

// stretch folds like rows about pods as they come: the first ones are written,
// the rest is told as one row at the end of the stretch, when a decision follows.
type stretch struct {
	seen  map[like]int
	last  map[like]row // of those not written
	count map[like]int
	order []like
}

func (s *stretch) clear() {
	*s = stretch{seen: map[like]int{}, last: map[like]row{}, count: map[like]int{}}
}

// keeps says whether a row is written at once.
func (s *stretch) keeps(r row, limit int) bool {
	key := *r.pods
	s.seen[key]++
	if s.seen[key] <= limit {
		return true
	}
	if s.count[key] == 0 {
		s.order = append(s.order, key)
	}
	s.count[key]++
	s.last[key] = r
	return false
}

// rest are the rows for what was not written.
func (s *stretch) rest() []row {
	var out []row
	for _, key := range s.order {
		r := s.last[key]
		if n := s.count[key]; n > 1 {
			r.what, r.because = key.folded(n), ""
		}
		out = append(out, r)
	}
	return out
}
