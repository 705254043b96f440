package sim

import (
	"testing"

	"pgregory.net/rapid"
)

// What was pushed comes out in its order, whatever was taken in between.
func TestLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l line[int]
		var want []int
		next := 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(want) > 0 && rapid.IntRange(0, 2).Draw(t, "takes") > 0 {
				first := *l.first()
				if got := l.pop(); first != got || got != want[0] {
					t.Fatalf("first %d, then %d, want %d", first, got, want[0])
				}
				want = want[1:]
			} else {
				l.push(next)
				want, next = append(want, next), next+1
			}
			if l.len() != len(want) {
				t.Fatalf("%d left, want %d", l.len(), len(want))
			}
		}
	})
}
