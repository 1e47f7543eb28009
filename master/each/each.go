// Package each makes lists and maps of the entries of a list.
package each

// Of is f of each entry, in their order; never nil.
func Of[T, U any](list []T, f func(T) U) []U {
	out := make([]U, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// Keyed returns the entries by their keys; the last one of a key wins.
func Keyed[T any, K comparable](list []T, key func(T) K) map[K]T {
	out := make(map[K]T, len(list))
	for _, x := range list {
		out[key(x)] = x
	}
	return out
}

// Map is a map with a key and a value of each entry; the last one of a key wins.
func Map[T any, K comparable, V any](list []T, f func(T) (K, V)) map[K]V {
	out := make(map[K]V, len(list))
	for _, x := range list {
		k, v := f(x)
		out[k] = v
	}
	return out
}

// Set is the set of the keys of the entries.
func Set[T any, K comparable](list []T, key func(T) K) map[K]bool {
	return Map(list, func(x T) (K, bool) { return key(x), true })
}

// Group returns the entries of each key, in their order.
func Group[T any, K comparable](list []T, key func(T) K) map[K][]T {
	out := map[K][]T{}
	for _, x := range list {
		k := key(x)
		out[k] = append(out[k], x)
	}
	return out
}

// Find is a pointer to the first entry for which is returns true, or nil.
func Find[T any](list []T, is func(*T) bool) *T {
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}
