package search

import (
	"crypto/sha256"
	"reflect"

	"github.com/detent-ml/detent/master/expconf"
)

// choices finds the index of a value of a categorical axis. A value may be a list of thousands of numbers, and a search looks up every
// value that it draws, so it recognizes these by their identity: what it draws are the lists of the configuration themselves. Only those of
// trials that were read from the database are compared by their text.
type choices struct {
	scalars map[any]int
	drawn   map[identity]int
	texts   map[[sha256.Size]byte]int
}

// identity is where the data of a list or a map is.
type identity struct {
	at  uintptr
	len int
}

func identityOf(v any) (identity, bool) {
	switch x := v.(type) {
	case []any:
		return identity{reflect.ValueOf(x).Pointer(), len(x)}, true
	case map[string]any:
		return identity{reflect.ValueOf(x).Pointer(), len(x)}, true
	}
	return identity{}, false
}

func isScalar(v any) bool {
	switch v.(type) {
	case nil, bool, string, int64, float64, int:
		return true
	}
	return false
}

// choicesOf is for the values of an axis; of equal ones, the first counts. nil: the axis is not categorical.
func choicesOf(p expconf.Hyperparameter) *choices {
	if p.Type != expconf.Categorical {
		return nil
	}
	c := &choices{scalars: map[any]int{}, drawn: map[identity]int{}, texts: map[[sha256.Size]byte]int{}}
	for i, v := range p.Vals {
		if isScalar(v) {
			if _, known := c.scalars[v]; !known {
				c.scalars[v] = i
			}
			continue
		}
		sum := sha256.Sum256([]byte(text(v)))
		first, known := c.texts[sum]
		if !known {
			first = i
			c.texts[sum] = i
		}
		if id, ok := identityOf(v); ok {
			c.drawn[id] = first
		}
	}
	return c
}

// distinct is the number of values that differ.
func (c *choices) distinct() int { return len(c.scalars) + len(c.texts) }

// index is that of the first value that is equal; 0 if there is none.
func (c *choices) index(v any) int {
	if isScalar(v) {
		return c.scalars[v]
	}
	if id, ok := identityOf(v); ok {
		if i, known := c.drawn[id]; known {
			return i
		}
	}
	return c.texts[sha256.Sum256([]byte(text(v)))]
}
