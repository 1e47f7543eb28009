package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	v1 "github.com/detent-ml/detent/master/v1"
)

// place places the requested window in a list of total items by the rules of Determined's API: a limit of 0
// or -1 means all, -2 none, and a negative offset counts from the end.
func place(w v1.Window, total int) (v1.Pagination, error) {
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

// paged reads the part of a list that a window selects. What it reads may end earlier, where the rows are long.
func paged[T any](w v1.Window, total int, failed error, read func(from, n int) ([]T, error)) ([]T, v1.Pagination, error) {
	if failed != nil {
		return nil, v1.Pagination{}, failed
	}
	p, err := place(w, total)
	if err != nil {
		return nil, p, err
	}
	list, err := read(p.StartIndex, p.EndIndex-p.StartIndex)
	p.EndIndex = p.StartIndex + len(list)
	return list, p, err
}

// cut applies place to a list in memory.
func cut[T any](list []T, w v1.Window) ([]T, v1.Pagination, error) {
	p, err := place(w, len(list))
	if err != nil {
		return nil, p, err
	}
	return list[p.StartIndex:p.EndIndex], p, nil
}

// sorting translates an order: names maps the API's values of sortBy to those of store. The default
// order is ascending.
func sorting(o v1.Order, names map[string]string) (by string, desc bool, err error) {
	by, known := names[o.SortBy]
	if o.SortBy != "" && o.SortBy != "SORT_BY_UNSPECIFIED" && !known {
		return "", false, fault.New(fault.Invalid, "sortBy: %q is not one of %s", fault.Clip(o.SortBy), strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	}
	desc, err = descending(o.OrderBy)
	return by, desc, err
}

func descending(orderBy string) (bool, error) {
	switch orderBy {
	case "", "ORDER_BY_UNSPECIFIED", "ORDER_BY_ASC":
		return false, nil
	case "ORDER_BY_DESC":
		return true, nil
	default:
		return false, fault.New(fault.Invalid, "orderBy: expected ORDER_BY_ASC or ORDER_BY_DESC, found %q", fault.Clip(orderBy))
	}
}

// between checks an optional number from 0 to limit; without one it is def.
func between(name string, n *int, def, limit int) (int, error) {
	switch {
	case n == nil:
		return def, nil
	case *n < 0 || *n > limit:
		return 0, fault.New(fault.Invalid, "%s: expected 0 to %d, found %d", name, limit, *n)
	}
	return *n, nil
}

// checkName rejects names that lists cannot show.
func checkName(what, name string, limit int) error {
	if p := names.Problem(name, limit); p != "" {
		return fault.New(fault.Invalid, "%s: %s", what, p)
	}
	return nil
}

// checkText rejects descriptions and notes that are too long.
func checkText(what, text string) error {
	if p := names.TooLong(text, names.MaxText); p != "" {
		return fault.New(fault.Invalid, "%s: %s", what, p)
	}
	return nil
}

// checkLabels rejects labels that lists cannot show, or that are too many or too long.
func checkLabels(labels []string) error {
	at, p := names.LabelProblem(labels)
	switch {
	case p == "":
		return nil
	case at < 0:
		return fault.New(fault.Invalid, "labels: %s", p)
	}
	return fault.New(fault.Invalid, "labels: the label %q %s", fault.Clip(labels[at]), p)
}
