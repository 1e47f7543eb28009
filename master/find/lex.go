package find

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Error is a mistake in a line, and its column, counted from one.
type Error struct {
	Column  int
	Message string
	Hint    string
}

// Error formats the mistake on one line.
func (e *Error) Error() string {
	s := fmt.Sprintf("column %d: %s", e.Column, e.Message)
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Caret is the line with a mark below the mistake.
func (e *Error) Caret(line string) string {
	shown := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, line)
	return shown + "\n" + strings.Repeat(" ", e.Column-1) + "^"
}

type tokenKind uint8

const (
	end    tokenKind = iota
	word             // letters, digits and other characters of names, dates and numbers
	quoted           // text in quotes, which is never a keyword
	symbol           // an operator, a parenthesis, a comma
)

type token struct {
	kind   tokenKind
	text   string
	column int
}

// is reports whether a token is that keyword, in upper or lower case.
func (t token) is(keyword string) bool { return t.kind == word && strings.EqualFold(t.text, keyword) }

func (t token) describe() string {
	switch t.kind {
	case end:
		return "the end"
	case quoted:
		return fmt.Sprintf("the text %q", clip(t.text))
	}
	return fmt.Sprintf("%q", clip(t.text))
}

// symbols, the longer ones first.
var symbols = []string{"==", "!=", "<>", "<=", ">=", "!~", "<", ">", "=", "~", "(", ")", ","}

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || strings.ContainsRune("_-.:/+@%#$*&[]{}|;?^\\", r)
}

// lex splits a line into tokens; the last token is the end.
func lex(src string) ([]token, *Error) {
	var out []token
	column := 1
	for len(src) > 0 {
		r, width := utf8.DecodeRuneInString(src)
		switch {
		case r == utf8.RuneError && width == 1:
			return nil, &Error{Column: column, Message: "is not UTF-8 text"}
		case unicode.IsSpace(r):
			src, column = src[width:], column+1
			continue
		case r == '"' || r == '\'':
			t, rest, err := lexQuoted(src, column)
			if err != nil {
				return nil, err
			}
			out, column, src = append(out, t), column+utf8.RuneCountInString(src[:len(src)-len(rest)]), rest
			continue
		case wordRune(r):
			t, rest, err := lexWord(src, column)
			if err != nil {
				return nil, err
			}
			out, column, src = append(out, t), column+utf8.RuneCountInString(src[:len(src)-len(rest)]), rest
			continue
		}
		t := token{kind: symbol, column: column}
		for _, s := range symbols {
			if strings.HasPrefix(src, s) {
				t.text = s
				break
			}
		}
		if t.text == "" {
			return nil, &Error{Column: column, Message: fmt.Sprintf("unexpected %q", r), Hint: "put text into quotes"}
		}
		out, column, src = append(out, t), column+len(t.text), src[len(t.text):]
	}
	return append(out, token{kind: end, column: column}), nil
}

// lexQuoted reads text in quotes; a backslash quotes the next character.
func lexQuoted(src string, column int) (token, string, *Error) {
	var b strings.Builder
	closing := src[0]
	for i := 1; i < len(src); i++ {
		switch {
		case src[i] == closing:
			if !utf8.ValidString(b.String()) {
				return token{}, "", &Error{Column: column, Message: "is not UTF-8 text"}
			}
			return token{kind: quoted, text: b.String(), column: column}, src[i+1:], nil
		case src[i] == '\\' && i+1 < len(src):
			i++
		}
		b.WriteByte(src[i])
	}
	return token{}, "", &Error{Column: column, Message: "the closing quote is missing"}
}

// lexWord reads a word. Parts of a name may be in quotes: hp."learning rate".
func lexWord(src string, column int) (token, string, *Error) {
	var b strings.Builder
	t := token{kind: word, column: column}
	for len(src) > 0 {
		r, width := utf8.DecodeRuneInString(src)
		if (r == '"' || r == '\'') && strings.HasSuffix(b.String(), ".") {
			part, rest, err := lexQuoted(src, column)
			if err != nil {
				return t, "", err
			}
			b.WriteString(part.text)
			column += utf8.RuneCountInString(src[:len(src)-len(rest)])
			src = rest
			continue
		}
		if !wordRune(r) || r == utf8.RuneError && width == 1 {
			break
		}
		b.WriteRune(r)
		src, column = src[width:], column+1
	}
	t.text = b.String()
	return t, src, nil
}
