package rest

import (
	"maps"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Locate finds the requested window in a list of total items by the rules of Determined's API: a limit of 0
// or -1 means all, -2 none, and a negative offset counts from the end.
func Locate(w v1.Window, total int) (v1.Pagination, error) {
	from := w.Offset
	if from < 0 {
		from += total
	}
	if from < 0 || from > total {
		return v1.Pagination{}, fault.New(fault.Invalid, "offset out of bounds: %d in a list of %d", w.Offset, total)
	}
	to := total
	switch {
	case w.Limit == -2:
		to = from
	case w.Limit > 0:
		to = min(total, from+w.Limit)
	}
	return v1.Pagination{Offset: w.Offset, Limit: w.Limit, StartIndex: from, EndIndex: to, Total: total}, nil
}

// Paged reads the part of a list that a window selects. What it reads may end earlier, where the rows are long.
func Paged[T any](w v1.Window, total int, failed error, read func(from, n int) ([]T, error)) ([]T, v1.Pagination, error) {
	if failed != nil {
		return nil, v1.Pagination{}, failed
	}
	p, err := Locate(w, total)
	if err != nil {
		return nil, p, err
	}
	list, err := read(p.StartIndex, p.EndIndex-p.StartIndex)
	p.EndIndex = p.StartIndex + len(list)
	return list, p, err
}

// Cut applies Locate to a list in memory.
func Cut[T any](list []T, w v1.Window) ([]T, v1.Pagination, error) {
	p, err := Locate(w, len(list))
	if err != nil {
		return nil, p, err
	}
	return list[p.StartIndex:p.EndIndex], p, nil
}

// Sorting translates an order: names maps the API's values of sortBy to those of the caller. The default
// order is ascending.
func Sorting(o v1.Order, names map[string]string) (by string, desc bool, err error) {
	by, known := names[o.SortBy]
	if o.SortBy != "" && o.SortBy != "SORT_BY_UNSPECIFIED" && !known {
		return "", false, fault.New(fault.Invalid, "sortBy: %q is not one of %s", fault.Clip(o.SortBy), strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	}
	desc, err = Descending(o.OrderBy)
	return by, desc, err
}

// Descending reads the direction of an order.
func Descending(orderBy string) (bool, error) {
	switch orderBy {
	case "", "ORDER_BY_UNSPECIFIED", "ORDER_BY_ASC":
		return false, nil
	case "ORDER_BY_DESC":
		return true, nil
	default:
		return false, fault.New(fault.Invalid, "orderBy: expected ORDER_BY_ASC or ORDER_BY_DESC, found %q", fault.Clip(orderBy))
	}
}

// Done is the answer without fields to a change; if the change succeeded, it wakes those whom it concerns.
func Done[Resp any](err error, wake func()) (*Resp, error) {
	if err != nil {
		return nil, err
	}
	wake()
	return new(Resp), nil
}

// Between checks an optional number from 0 to limit; without one it is def.
func Between(name string, n *int, def, limit int) (int, error) {
	switch {
	case n == nil:
		return def, nil
	case *n < 0 || *n > limit:
		return 0, fault.New(fault.Invalid, "%s: expected 0 to %d, found %d", name, limit, *n)
	}
	return *n, nil
}

// Missing are the ids, each once and in their order, that are not among the found ones.
func Missing(ids, found []int) []int {
	there := each.Set(found, func(id int) int { return id })
	return slices.DeleteFunc(Distinct(ids), func(id int) bool { return there[id] })
}

// Distinct returns what a request names in its order, each once; never nil.
func Distinct[T comparable](ids []T) []T {
	seen, list := make(map[T]bool, len(ids)), make([]T, 0, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			list = append(list, id)
		}
	}
	return list
}
