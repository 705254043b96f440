package sim

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever is pushed and taken back, what is left runs by time and, within one
// time, in the order in which it was pushed, or made for soon; the past counts as now.
func TestLoopOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		l := newLoop(start)
		type call struct {
			second, nth int
			soon        bool
		}
		var items []*item
		var want, got []call
		for nth, second := range rapid.SliceOfN(rapid.IntRange(-1, 6), 1, 60).Draw(t, "seconds") {
			c := call{second: max(second, 0), nth: nth}
			it := &item{when: time.Duration(second) * time.Second, fn: func() { got = append(got, c) }}
			l.push(it)
			items, want = append(items, it), append(want, c)
			if rapid.IntRange(0, 3).Draw(t, "soon") == 0 {
				now := call{nth: nth, soon: true}
				l.soon(func() { got = append(got, now) })
				want = append(want, now)
			}
		}
		for _, nth := range rapid.SliceOf(rapid.IntRange(0, len(items)-1)).Draw(t, "cancelled") {
			was := func(c call) bool { return c.nth == nth && !c.soon }
			pending := slices.ContainsFunc(want, was)
			if l.cancel(items[nth]) != pending {
				t.Fatalf("cancel of call %d, pending %v", nth, pending)
			}
			want = slices.DeleteFunc(want, was)
		}
		slices.SortStableFunc(want, func(a, b call) int { return a.second - b.second })
		if l.activity != len(want) {
			t.Fatalf("%d pending, want %d", l.activity, len(want))
		}
		for _, ok := l.next(); ok; _, ok = l.next() {
			fn, _ := l.pop()
			fn()
			if last := got[len(got)-1]; !l.Now().Equal(start.Add(time.Duration(last.second) * time.Second)) {
				t.Fatalf("it is %s at call %+v", l.Now(), last)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("ran %v, want %v", got, want)
		}
	})
}
