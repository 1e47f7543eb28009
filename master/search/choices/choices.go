// Package choices finds the index of a value of a categorical hyperparameter. It is pure.
package choices

import (
	"crypto/sha256"
	"encoding/json"
	"reflect"

	"github.com/detent-ml/detent/master/expconf"
)

// An Index finds the index of a value of a categorical axis. A value may be a list of thousands of numbers, and a search looks up every
// value that it draws, so it recognizes these by their identity: what it draws are the lists of the configuration themselves. Only those of
// trials that were read from the database are compared by their text.
type Index struct {
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

// Of is for the values of an axis; of equal ones, the first counts. nil: the axis is not categorical.
func Of(p expconf.Hyperparameter) *Index {
	if p.Type != expconf.Categorical {
		return nil
	}
	c := &Index{scalars: map[any]int{}, drawn: map[identity]int{}, texts: map[[sha256.Size]byte]int{}}
	for i, v := range p.Vals {
		if isScalar(v) {
			if _, known := c.scalars[v]; !known {
				c.scalars[v] = i
			}
			continue
		}
		sum := sha256.Sum256([]byte(Text(v)))
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

// Distinct is the number of values that differ.
func (c *Index) Distinct() int { return len(c.scalars) + len(c.texts) }

// At is that of the first value that is equal; 0 if there is none.
func (c *Index) At(v any) int {
	if isScalar(v) {
		return c.scalars[v]
	}
	if id, ok := identityOf(v); ok {
		if i, known := c.drawn[id]; known {
			return i
		}
	}
	return c.texts[sha256.Sum256([]byte(Text(v)))]
}

// Text is the JSON of a value; "" of one that has none.
func Text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}
