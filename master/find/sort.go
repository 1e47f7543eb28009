package find

import (
	"fmt"
	"strings"
)

// A Sort is one column of a sort order.
type Sort struct {
	Column Column
	Desc   bool
}

const maxSorts = 10

// ParseSort reads an order as Determined's API has it: "name=asc,hp.lr=desc".
func (t Table) ParseSort(text string) ([]Sort, error) {
	if text == "" {
		return nil, nil
	}
	parts := strings.Split(text, ",")
	if len(parts) > maxSorts {
		return nil, fmt.Errorf("a list can be sorted by at most %d columns", maxSorts)
	}
	var out []Sort
	for _, part := range parts {
		i := strings.LastIndexByte(part, '=')
		if i < 0 {
			return nil, fmt.Errorf("invalid sort parameter: %q; expected <column>=asc or <column>=desc", clip(part))
		}
		name, direction := strings.TrimSpace(part[:i]), part[i+1:]
		if direction != "asc" && direction != "desc" {
			return nil, fmt.Errorf("invalid sort direction: %q; expected asc or desc", clip(direction))
		}
		c, ok := t.ColumnOf(name)
		if !ok {
			return nil, fmt.Errorf("invalid sort col: %q", clip(name))
		}
		if len(name) > maxText || strings.ContainsRune(name, 0) {
			return nil, fmt.Errorf("invalid sort col: %q is too long or has a NUL character", clip(name))
		}
		out = append(out, Sort{Column: c, Desc: direction == "desc"})
	}
	return out, nil
}

// SortOf turns what users type, "name" or "hp.lr:desc", into the wire's form.
func (t Table) SortOf(words []string) (string, error) {
	var out []string
	for _, w := range words {
		name, direction, found := strings.Cut(w, ":")
		if !found {
			direction = "asc"
		}
		out = append(out, name+"="+direction)
	}
	text := strings.Join(out, ",")
	_, err := t.ParseSort(text)
	return text, err
}
