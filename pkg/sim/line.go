package sim

// line is a queue, first in, first out, that uses its room again.
type line[T any] struct {
	items []T
	head  int // the first that is left
}

func (l *line[T]) len() int { return len(l.items) - l.head }

// first is the one that is next, there to be looked at until the line changes.
func (l *line[T]) first() *T { return &l.items[l.head] }

func (l *line[T]) push(item T) {
	if l.head > 0 && len(l.items) == cap(l.items) && l.head >= len(l.items)/2 {
		kept := copy(l.items, l.items[l.head:])
		clear(l.items[kept:])
		l.items, l.head = l.items[:kept], 0
	}
	l.items = append(l.items, item)
}

func (l *line[T]) pop() T {
	item := l.items[l.head]
	clear(l.items[l.head : l.head+1])
	if l.head++; l.head == len(l.items) {
		l.items, l.head = l.items[:0], 0
	}
	return item
}
