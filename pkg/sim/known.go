package sim

import "k8s.io/apimachinery/pkg/types"

// Known is what a follower knows of the objects of a resource, by their numbers
// (Hands.Follow). The zero value is empty.
type Known[T any] struct{ records []known[T] }

type known[T any] struct {
	uid types.UID
	of  *T // nil when nothing is known
}

// At is what is known of an object; nil when nothing is, be it of a namesake.
func (k *Known[T]) At(number int, uid types.UID) *T {
	if number >= len(k.records) || k.records[number].uid != uid {
		return nil
	}
	return k.records[number].of
}

// Set notes what is known of an object, and returns what was known of it or a
// namesake; nil forgets it.
func (k *Known[T]) Set(number int, uid types.UID, is *T) (was *T) {
	for number >= len(k.records) {
		k.records = append(k.records, known[T]{})
	}
	was = k.records[number].of
	k.records[number] = known[T]{uid, is}
	return was
}

// All are the records there are, in the order of the numbers.
func (k *Known[T]) All() []*T {
	var all []*T
	for _, r := range k.records {
		if r.of != nil {
			all = append(all, r.of)
		}
	}
	return all
}
