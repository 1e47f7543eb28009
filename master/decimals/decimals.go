// Package decimals limits JSON documents by the digits that PostgreSQL writes for their numbers. It keeps exact decimal numbers: 1e308 has five
// characters in a request, takes a few bytes on the disk, and has 309 digits whenever anybody reads it. So a small request could make a
// document that takes hundreds of megabytes of each master.
package decimals

import (
	"bytes"
	"fmt"
	"strconv"
)

// MaxMore is how many characters the digits of a document may have beyond twice its text.
const MaxMore = 1 << 20

// NumberEnd returns the length of the number with which a text begins.
func NumberEnd(raw []byte) int {
	for i, c := range raw {
		switch {
		case c >= '0' && c <= '9', c == '-', c == '+', c == '.', c == 'e', c == 'E':
		default:
			return i
		}
	}
	return len(raw)
}

// Out is at least the number of digits of a number without exponent.
func Out(number []byte) int {
	e := bytes.IndexAny(number, "eE")
	if e < 0 {
		return len(number)
	}
	exponent, _ := strconv.Atoi(string(number[e+1:])) // of a larger one: the largest
	const most = 1 << 30
	return len(number) + min(max(exponent, -exponent), most)
}

// Check returns an error if a document has too many numbers with large exponents. The text must be valid JSON.
func Check(raw []byte) error {
	more := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			i++
			for i < len(raw) && raw[i] != '"' {
				if raw[i] == '\\' {
					i++
				}
				i++
			}
			i++
		case c == '-' || c >= '0' && c <= '9':
			n := NumberEnd(raw[i:])
			if more += Out(raw[i:i+n]) - n; more > MaxMore+len(raw) {
				return fmt.Errorf("its numbers have too many digits without exponents (1e308 has 309): with them it would have more than %d bytes; "+
					"write such numbers as texts, or keep them in a file", MaxMore+2*len(raw))
			}
			i += n
		default:
			i++
		}
	}
	return nil
}
