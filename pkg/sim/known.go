package sim

// Known is what a follower knows of the objects of a resource, by their numbers
// (Hands.Follow). The zero value is empty.
type Known[T any] struct{ records []*T }

// At is what is known of an object; nil when nothing is.
func (k *Known[T]) At(number int) *T {
	if number >= len(k.records) {
		return nil
	}
	return k.records[number]
}

// Set notes what is known of an object; nil forgets it.
func (k *Known[T]) Set(number int, record *T) {
	for number >= len(k.records) {
		k.records = append(k.records, nil)
	}
	k.records[number] = record
}

// All are the records there are, in the order of the numbers.
func (k *Known[T]) All() []*T {
	var all []*T
	for _, r := range k.records {
		if r != nil {
			all = append(all, r)
		}
	}
	return all
}
