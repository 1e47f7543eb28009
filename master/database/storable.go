package database

import (
	"strings"
	"unicode/utf8"
)

// Text returns a text that a column can store: PostgreSQL stores neither NUL nor invalid UTF-8.
func Text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, string(utf8.RuneError)), "\x00", string(utf8.RuneError))
}

// TextUpTo returns the first bytes of a Text, without a broken character, and … if there were more.
func TextUpTo(s string, most int) string {
	s = Text(s)
	if len(s) <= most {
		return s
	}
	return Text(s[:most]) + "…"
}
