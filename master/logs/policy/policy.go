// Package policy finds the log lines that match log policies. It is pure. The runner uses it
// for the output of its program, and the master for lines that programs send themselves.
//
// Most lines match no pattern, and most patterns contain a literal that every match contains.
// So a line is first searched for these literals, which takes a hundredth of the time of a
// regular expression.
package policy

import (
	"fmt"
	"regexp/syntax"
	"strings"

	"github.com/detent-ml/detent/master/regex"
)

// A Matcher has compiled patterns. It is safe for concurrent use.
type Matcher struct {
	patterns []pattern
}

type pattern struct {
	expression *regex.Expression
	word       string // literal in every match; "": none is known
}

// New makes a Matcher of patterns in the syntax of RE2.
func New(patterns []string) (*Matcher, error) {
	m := &Matcher{patterns: make([]pattern, len(patterns))}
	for i, text := range patterns {
		e, err := regex.Compile(text)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", text, err)
		}
		m.patterns[i] = pattern{e, wordOf(text)}
	}
	return m, nil
}

// Len is the number of patterns.
func (m *Matcher) Len() int { return len(m.patterns) }

// Match returns the indexes of the patterns that a line matches. A line that contains the
// policies themselves, such as a printed configuration, matches none.
func (m *Matcher) Match(line string) []int {
	found, _ := m.MatchWithin(line, func(int64) bool { return true })
	return found
}

// MatchUntil is Match, but it asks before each pattern whether to stop.
func (m *Matcher) MatchUntil(line string, stop func() bool) []int {
	found, _ := m.MatchWithin(line, func(int64) bool { return !stop() })
	return found
}

// MatchWithin is Match, but before each pattern it asks for the work that matching it takes, in the steps of regex.Expression.Work, and
// ends when it does not get it. all is false then.
func (m *Matcher) MatchWithin(line string, take func(work int64) bool) (found []int, all bool) {
	const bytesOfStep = 16 // of the search for a word
	for i := range m.patterns {
		p := &m.patterns[i]
		if !take(int64(len(line)/bytesOfStep + 1)) {
			return found, false
		}
		if p.word != "" && !strings.Contains(line, p.word) {
			continue
		}
		if !take(p.expression.Work(line)) {
			return found, false
		}
		if !p.expression.MatchString(line) {
			continue
		}
		if found == nil && showsPolicies(line) {
			return nil, true
		}
		found = append(found, i)
	}
	return found, true
}

// showsPolicies detects a configuration in the form of JSON or of Python.
func showsPolicies(line string) bool {
	return strings.Contains(line, `"log_policies":`) || strings.Contains(line, `'log_policies':`)
}

// wordOf is the longest literal that is part of every match of a pattern.
func wordOf(text string) string {
	e, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return ""
	}
	return longest(e.Simplify())
}

// longest searches the parts that always match: sequences, groups, and parts that are repeated
// at least once. It skips alternatives.
func longest(e *syntax.Regexp) string {
	switch e.Op {
	case syntax.OpLiteral:
		if e.Flags&syntax.FoldCase == 0 {
			return string(e.Rune)
		}
	case syntax.OpConcat:
		word := ""
		for _, part := range e.Sub {
			if w := longest(part); len(w) > len(word) {
				word = w
			}
		}
		return word
	case syntax.OpCapture, syntax.OpPlus:
		return longest(e.Sub[0])
	case syntax.OpRepeat:
		if e.Min > 0 {
			return longest(e.Sub[0])
		}
	}
	return ""
}
