// Package logpolicy finds the lines of a log that policies ask about. It is pure,
// and it is where matching happens for both who take lines in: the runner, for
// what its program prints, and the master, for what programs ship by themselves.
//
// Most lines match nothing and most patterns have words in them that a match
// cannot do without, so a line is first searched for those words, which costs a
// hundredth of a regular expression.
package logpolicy

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/detent-ml/detent/master/regex"
)

// A Matcher knows some patterns. It is safe for concurrent use.
type Matcher struct {
	patterns []pattern
}

type pattern struct {
	expression *regexp.Regexp
	word       string // a part of whatever matches; "" when there is none for certain
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

// Match gives the patterns that a line matches, by their places in the list. A
// line that shows the policies themselves, as a configuration that is printed
// does, matches none: it would contain the very words.
func (m *Matcher) Match(line string) []int {
	var found []int
	for i := range m.patterns {
		p := &m.patterns[i]
		if p.word != "" && !strings.Contains(line, p.word) || !p.expression.MatchString(line) {
			continue
		}
		if found == nil && showsPolicies(line) {
			return nil
		}
		found = append(found, i)
	}
	return found
}

// showsPolicies recognizes a configuration as JSON and as Python print it.
func showsPolicies(line string) bool {
	return strings.Contains(line, `"log_policies":`) || strings.Contains(line, `'log_policies':`)
}

// wordOf is the longest literal that is part of everything that a pattern matches.
func wordOf(text string) string {
	e, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return ""
	}
	return longest(e.Simplify())
}

// longest looks into what has to match whole: sequences, groups, and what is
// repeated at least once. Of alternatives none is certain.
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
