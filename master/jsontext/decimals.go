package jsontext

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
)

// PostgreSQL keeps exact decimal numbers: 1e308 has five characters in a request, takes a few bytes on the disk, and has 309 digits
// whenever anybody reads it. So a small request could make a document that takes hundreds of megabytes of each master.

// MaxMore is how many characters the digits of a document may have beyond twice its text.
const MaxMore = 1 << 20

// Digits is at least the number of digits of a number without exponent.
func Digits(number []byte) int {
	e := bytes.IndexAny(number, "eE")
	if e < 0 {
		return len(number)
	}
	exponent, _ := strconv.Atoi(string(number[e+1:])) // of a larger one: the largest
	const most = 1 << 30
	return len(number) + min(max(exponent, -exponent), most)
}

// CheckDigits returns an error if a document has too many numbers with large exponents. The text must be valid JSON.
func CheckDigits(raw []byte) error {
	more := 0
	for t, rest := Token(raw); t != nil; t, rest = Token(rest) {
		if !IsNumber(t) {
			continue
		}
		if more += Digits(t) - len(t); more > MaxMore+len(raw) {
			return fmt.Errorf("its numbers have too many digits without exponents (1e308 has 309): with them it would have more than %d bytes; "+
				"write such numbers as texts, or keep them in a file", MaxMore+2*len(raw))
		}
	}
	return nil
}

// FiniteOrText is a number that JSON has, or the name with which Determined's clients write it: NaN, Infinity, -Infinity.
func FiniteOrText(f float64) any {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return f
}
