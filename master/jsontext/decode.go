package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// Decode decodes a JSON value; numbers stay json.Number.
func Decode(raw json.RawMessage, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is text after the JSON value")
	}
	return nil
}

// Same reports whether two JSON texts have the same value.
func Same(a, b json.RawMessage) (bool, error) {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b), nil
	}
	var x, y any
	if err := errors.Join(Decode(a, &x), Decode(b, &y)); err != nil {
		return false, err
	}
	return sameValue(x, y), nil
}

// sameValue reports whether two decoded values are equal. It compares numbers by value,
// because PostgreSQL changes their text.
func sameValue(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && sameNumber(x, y)
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !sameValue(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, there := y[k]
			if !there || !sameValue(v, w) {
				return false
			}
		}
		return true
	}
	return a == b
}

func sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, xerr := strconv.ParseFloat(a.String(), 64)
	y, yerr := strconv.ParseFloat(b.String(), 64)
	return xerr == nil && yerr == nil && x == y
}
