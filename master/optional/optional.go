// Package optional reads values that may be left out, in configurations and on the wire:
// pointers.
package optional

// Value is what p points to, and the zero value where p is nil.
func Value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// Or is what p points to, and otherwise where p is nil.
func Or[T any](p *T, otherwise T) T {
	if p != nil {
		return *p
	}
	return otherwise
}

// NonZero is a pointer to v, and nil for the zero value.
func NonZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Length is the length of the texts that are given.
func Length(texts ...*string) (n int) {
	for _, text := range texts {
		n += len(Value(text))
	}
	return n
}
