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

// Limits of one match, which cannot be interrupted: the more steps a program has, the less of a text it searches.
const (
	maxSearched = 64 << 10 // bytes of a text
	maxWork     = 4 << 20  // bytes times steps: some 60 ms
)

// An Expression is a compiled expression. It is safe for concurrent use.
type Expression struct {
	compiled *regexp.Regexp
	within   int // bytes of a text that it searches
	steps    int // of its program
}

// MatchString reports whether the beginning of a text matches: at least its first 800 bytes, and 64 KB for programs of up to 64 steps.
func (e *Expression) MatchString(text string) bool {
	return e.compiled.MatchString(text[:min(len(text), e.within)])
}

// Work is what a match of a text costs, in steps of some 10 ns. It is counted, and so the same on each machine.
func (e *Expression) Work(text string) int64 {
	const each = 8 // what a byte costs beside the program
	return int64(e.steps+each) * int64(min(len(text), e.within)+1)
}

// String returns the expression as it was written.
func (e *Expression) String() string { return e.compiled.String() }

// Compile compiles an expression, unless it or its program is too large.
func Compile(expression string) (*Expression, error) { return CompileWithin(expression, maxProgram) }

// CompileWithin is Compile with a limit of its own for the steps of the program.
func CompileWithin(expression string, steps int) (*Expression, error) {
	if len(expression) > MaxLength {
		return nil, fmt.Errorf("a regular expression may have at most %d bytes, found %d", MaxLength, len(expression))
	}
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	n := size(parsed)
	if n > steps {
		return nil, fmt.Errorf("the regular expression is too large: with expanded repetitions it has about %d steps, at most %d are allowed; use smaller repetitions", n, steps)
	}
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	return &Expression{compiled, min(maxSearched, maxWork/max(n, 1)), n}, nil
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
