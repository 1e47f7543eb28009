package api

import (
	"strings"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// window is the part of a list that a client requests.
type window struct{ offset, limit int }

// window parses limit and offset.
func (c *call) window() (window, error) {
	limit, err := c.intOr("limit", 0)
	if err != nil {
		return window{}, err
	}
	offset, err := c.intOr("offset", 0)
	return window{offset, limit}, err
}

// of places the window in a list of total items by the rules of Determined's API: a limit of 0
// or -1 means all, -2 none, and a negative offset counts from the end.
func (w window) of(total int) (v1.Pagination, error) {
	from := w.offset
	if from < 0 {
		from += total
	}
	if from < 0 || from > total {
		return v1.Pagination{}, fault.New(fault.Invalid, "offset out of bounds: %d in a list of %d", w.offset, total)
	}
	to := total
	switch {
	case w.limit == -2:
		to = from
	case w.limit > 0:
		to = min(total, from+w.limit)
	}
	return v1.Pagination{Offset: w.offset, Limit: w.limit, StartIndex: from, EndIndex: to, Total: total}, nil
}

// cut applies of to a list in memory.
func cut[T any](list []T, w window) ([]T, v1.Pagination, error) {
	p, err := w.of(len(list))
	if err != nil {
		return nil, p, err
	}
	return list[p.StartIndex:p.EndIndex], p, nil
}

// sorting parses sortBy and orderBy: names maps the API's values to those of store. The default
// order is ascending.
func (c *call) sorting(names map[string]string) (by string, desc bool, err error) {
	s, _ := c.query("sortBy")
	by, known := names[s]
	if s != "" && s != "SORT_BY_UNSPECIFIED" && !known {
		return "", false, fault.New(fault.Invalid, "sortBy: %q is not supported for this list", s)
	}
	desc, err = c.descending()
	return by, desc, err
}

func (c *call) descending() (bool, error) {
	switch o, _ := c.query("orderBy"); o {
	case "", "ORDER_BY_UNSPECIFIED", "ORDER_BY_ASC":
		return false, nil
	case "ORDER_BY_DESC":
		return true, nil
	default:
		return false, fault.New(fault.Invalid, "orderBy: expected ORDER_BY_ASC or ORDER_BY_DESC, found %q", o)
	}
}

// numbers parses a repeated parameter of integers.
func (c *call) numbers(name string) ([]int, error) {
	var out []int
	for _, s := range c.list(name) {
		n, err := number(s)
		if err != nil {
			return nil, fault.New(fault.Invalid, "%s: expected integers, found %q", name, s)
		}
		out = append(out, n)
	}
	return out, nil
}

// maxName is the maximum length of names that users choose.
const maxName = 1000

// checkName rejects names that lists cannot show.
func checkName(what, name string, limit int) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fault.New(fault.Invalid, "%s: the name is missing", what)
	case len(name) > limit:
		return fault.New(fault.Invalid, "%s: a name of %d bytes is over the limit of %d", what, len(name), limit)
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fault.New(fault.Invalid, "%s: the name contains control characters", what)
	}
	return nil
}
