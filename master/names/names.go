// Package names decides which names, labels and descriptions the master stores. The checks of
// configurations (expconf) and of requests (api, accounts) use it, so that what may be set when a thing is
// made may also be set later.
//
// The bounds are above what a person types and far above what Determined's clients show. They follow
// from two facts: a complete configuration has at most 1 MiB and contains the name, the description
// and the labels of its experiment, so each of the three may have a quarter of it; and PostgreSQL's
// index entries have at most a third of a page (2,704 bytes), so a name that must be unique is shorter.
package names

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxText is the maximum number of bytes of an experiment's name, of a description, of notes, and
	// of all labels of one thing together.
	MaxText = 256 << 10
	// MaxLabels is the maximum number of labels of one thing.
	MaxLabels = 2000
	// MaxUnique is the maximum number of bytes of a name that no other thing may have.
	MaxUnique = 2600
)

// Problem returns what is wrong with a name or a label, or "". Lists show it on one line.
func Problem(name string, most int) string {
	switch {
	case strings.TrimSpace(name) == "":
		return "is empty"
	case len(name) > most:
		return TooLong(name, most)
	case !utf8.ValidString(name):
		return "contains bytes that are not UTF-8 text"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "must be one line without control characters"
	}
	return ""
}

// TooLong returns what is wrong with a text that may have at most so many bytes, or "".
func TooLong(text string, most int) string {
	if len(text) <= most {
		return ""
	}
	return fmt.Sprintf("has %d bytes, over the limit of %d", len(text), most)
}

// LabelProblem returns what is wrong with the labels of one thing, and the index of the label that is
// wrong; -1 if the labels are wrong together. Without a problem it returns "".
func LabelProblem(labels []string) (at int, problem string) {
	if len(labels) > MaxLabels {
		return -1, fmt.Sprintf("has %d labels, over the limit of %d", len(labels), MaxLabels)
	}
	size := 0
	for i, l := range labels {
		if p := Problem(l, MaxText); p != "" {
			return i, p
		}
		size += len(l)
	}
	if size > MaxText {
		return -1, fmt.Sprintf("has labels of %d bytes together, over the limit of %d", size, MaxText)
	}
	return 0, ""
}
