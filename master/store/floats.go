package store

import (
	"bytes"
	"strconv"
)

// floatAt is an SQL value of type jsonb as a float8, and NULL where it is no number or
// one that no float8 holds. JSON has larger numbers and smaller ones than a float8,
// and PostgreSQL fails a whole statement that casts one of them.
func floatAt(value string) string {
	number := "(" + value + ")::numeric"
	return "(CASE WHEN jsonb_typeof(" + value + ") IS DISTINCT FROM 'number' THEN NULL" +
		" WHEN abs(" + number + ") > 1.7976931348623157e308 THEN NULL" +
		" WHEN abs(" + number + ") < 4.94e-324 THEN 0" +
		" ELSE (" + value + ")::float8 END)"
}

// longestInRange is how many characters a number may have without an exponent and be
// in the range of a float8 for sure.
const longestInRange = 300

// outOfRange finds a number in a JSON text that no float64 holds; "" when there is none.
func outOfRange(text []byte) string {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			i = endOfText(text, i)
		case c == '-' || '0' <= c && c <= '9':
			n := len(text[i:]) - len(bytes.TrimLeft(text[i:], "+-.0123456789eE"))
			number := text[i : i+n]
			if n > longestInRange || bytes.ContainsAny(number, "eE") {
				if _, err := strconv.ParseFloat(string(number), 64); err != nil {
					return string(number)
				}
			}
			i += n - 1
		}
	}
	return ""
}

// endOfText is where a JSON text that begins at a place has its closing quote.
func endOfText(text []byte, from int) int {
	for i := from + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}
