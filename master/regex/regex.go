// Package regex compiles regular expressions of users. A few bytes such as (a?){999}, repeated,
// can compile to gigabytes, so the size of the compiled program is computed first.
package regex

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// MaxLength is the maximum length of an expression in bytes.
	MaxLength = 4096
	// maxProgram is the maximum number of steps of a program, as counted by size. The time of a
	// match is proportional to it.
	maxProgram = 5000
)

// Compile compiles an expression, unless it or its program is too large.
func Compile(expression string) (*regexp.Regexp, error) {
	if len(expression) > MaxLength {
		return nil, fmt.Errorf("a regular expression may have at most %d bytes, found %d", MaxLength, len(expression))
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if n := size(parsed); n > maxProgram {
		return nil, fmt.Errorf("the regular expression is too large: with expanded repetitions it has about %d steps, at most %d are allowed; use smaller repetitions", n, maxProgram)
	}
	return regexp.Compile(expression)
}

// tooLarge stops counting before an overflow.
const tooLarge = 1_000_000

// size is the approximate number of steps of an expression's program.
func size(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/16
	if re.Op == syntax.OpLiteral {
		n = 1 + len(re.Rune)
	}
	for _, sub := range re.Sub {
		if n += size(sub); n > tooLarge {
			return tooLarge
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Max, re.Min+1, 1)
	}
	return min(n, tooLarge)
}
