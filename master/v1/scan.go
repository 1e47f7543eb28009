package v1

import "encoding/json"

// Scanning of JSON that is known to be valid: Unmarshal checks the whole body
// once, so finding where a value ends needs no further judgement and no copy.

// eachMember calls fn for the members of an object in their order.
func eachMember(raw []byte, fn func(name string, value []byte) error) error {
	i := space(raw, 1)
	for raw[i] != '}' {
		end := value(raw, i)
		name, ok := unquote(raw[i:end])
		if !ok {
			return json.Unmarshal(raw[i:end], &name)
		}
		i = space(raw, end)
		i = space(raw, i+1) // the colon
		end = value(raw, i)
		if err := fn(name, raw[i:end]); err != nil {
			return err
		}
		if i = space(raw, end); raw[i] == ',' {
			i = space(raw, i+1)
		}
	}
	return nil
}

// elements lists the items of an array.
func elements(raw []byte) [][]byte {
	var list [][]byte
	i := space(raw, 1)
	for raw[i] != ']' {
		end := value(raw, i)
		list = append(list, raw[i:end])
		if i = space(raw, end); raw[i] == ',' {
			i = space(raw, i+1)
		}
	}
	return list
}

// space skips white space.
func space(raw []byte, i int) int {
	for raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r' {
		i++
	}
	return i
}

// value finds the end of the value that begins at i.
func value(raw []byte, i int) int {
	switch raw[i] {
	case '"':
		for i++; raw[i] != '"'; i++ {
			if raw[i] == '\\' {
				i++
			}
		}
		return i + 1
	case '{', '[':
		depth := 0
		for {
			switch raw[i] {
			case '"':
				i = value(raw, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	}
	for i < len(raw) && raw[i] != ',' && raw[i] != '}' && raw[i] != ']' && raw[i] > ' ' {
		i++
	}
	return i
}
