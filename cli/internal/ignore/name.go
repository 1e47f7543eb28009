package ignore

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// matchName matches one name with a pattern of *, ?, [classes] and backslashes. It backtracks
// to the last star only, so its time is limited by the product of the two lengths.
func matchName(pat, name string) bool {
	star, resume := -1, 0
	p, n := 0, 0
	for n < len(name) {
		if p < len(pat) && pat[p] == '*' {
			star, resume = p, n
			p++
			continue
		}
		if p < len(pat) {
			r, size := utf8.DecodeRuneInString(name[n:])
			if ok, width := matchOne(pat[p:], r); ok {
				p += width
				n += size
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[resume:])
		resume += size
		p, n = star+1, resume
	}
	for p < len(pat) && pat[p] == '*' {
		p++
	}
	return p == len(pat)
}

// matchOne matches a rune with the first element of a pattern and returns the length of that
// element.
func matchOne(pat string, r rune) (ok bool, width int) {
	switch pat[0] {
	case '?':
		return true, 1
	case '[':
		if ok, width := matchClass(pat, r); width > 0 {
			return ok, width
		}
	case '\\':
		if len(pat) > 1 {
			want, size := utf8.DecodeRuneInString(pat[1:])
			return want == r, 1 + size
		}
	}
	want, size := utf8.DecodeRuneInString(pat)
	return want == r, size
}

// matchClass matches [abc], [a-z], [!a], [[:digit:]]. An unclosed bracket is not a class: its
// width is 0.
func matchClass(pat string, r rune) (ok bool, width int) {
	i := 1
	negate := i < len(pat) && (pat[i] == '!' || pat[i] == '^')
	if negate {
		i++
	}
	matched := false
	for first := true; ; first = false {
		if i >= len(pat) {
			return false, 0
		}
		if pat[i] == ']' && !first {
			return matched != negate, i + 1
		}
		if name, size := posixClass(pat[i:]); size > 0 {
			matched = matched || inPosix(name, r)
			i += size
			continue
		}
		low, size := classRune(pat[i:])
		i += size
		high := low
		if i+1 < len(pat) && pat[i] == '-' && pat[i+1] != ']' {
			high, size = classRune(pat[i+1:])
			i += 1 + size
		}
		matched = matched || low <= r && r <= high
	}
}

func classRune(pat string) (rune, int) {
	if pat[0] == '\\' && len(pat) > 1 {
		r, size := utf8.DecodeRuneInString(pat[1:])
		return r, 1 + size
	}
	return utf8.DecodeRuneInString(pat)
}

func posixClass(pat string) (name string, size int) {
	if !strings.HasPrefix(pat, "[:") {
		return "", 0
	}
	end := strings.Index(pat, ":]")
	if end < 0 {
		return "", 0
	}
	return pat[2:end], end + 2
}

func inPosix(name string, r rune) bool {
	switch name {
	case "alpha":
		return unicode.IsLetter(r)
	case "digit":
		return r >= '0' && r <= '9'
	case "alnum":
		return unicode.IsLetter(r) || unicode.IsDigit(r)
	case "upper":
		return unicode.IsUpper(r)
	case "lower":
		return unicode.IsLower(r)
	case "space", "blank":
		return unicode.IsSpace(r)
	case "punct":
		return unicode.IsPunct(r) || unicode.IsSymbol(r)
	case "xdigit":
		return strings.ContainsRune("0123456789abcdefABCDEF", r)
	case "cntrl":
		return unicode.IsControl(r)
	case "print", "graph":
		return unicode.IsPrint(r) && (name == "print" || r != ' ')
	}
	return false
}
