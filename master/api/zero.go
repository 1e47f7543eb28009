package api

// orZero is what a pointer leads to, and a zero value where it leads nowhere: for
// fields that the wire has no null for.
func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
