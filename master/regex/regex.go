// Package regex compiles regular expressions that users write. A few bytes such as
// (a?){999}, written again and again, make a program of gigabytes: the size of the
// program is counted before it is made.
package regex

import (
	"fmt"
	"regexp"
	"regexp/syntax"
)

const (
	// MaxLength is how many bytes an expression may have.
	MaxLength = 4096
	// maxProgram is how many steps its program may have, as counted here. Matching
	// takes time in proportion to it.
	maxProgram = 5000
)

// Compile compiles an expression, unless it or its program is too large.
func Compile(expression string) (*regexp.Regexp, error) {
	if len(expression) > MaxLength {
		return nil, fmt.Errorf("a regular expression may have %d bytes, found %d", MaxLength, len(expression))
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if n := size(parsed); n > maxProgram {
		return nil, fmt.Errorf("the regular expression is too large: with its repetitions written out it has some %d steps, and %d are allowed; use shorter repetitions", n, maxProgram)
	}
	return regexp.Compile(expression)
}

// tooLarge stops the counting long before it overflows.
const tooLarge = 1_000_000

// size is about how many steps the program of an expression has.
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
