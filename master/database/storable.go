package database

import (
	"fmt"
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

// SizeText formats a number of bytes for messages.
func SizeText(n int64) string {
	for _, u := range []struct {
		bytes int64
		name  string
	}{{1 << 30, "GiB"}, {1 << 20, "MiB"}} {
		if n >= u.bytes {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.bytes), u.name)
		}
	}
	return fmt.Sprintf("%d KiB", (n+1<<10-1)>>10)
}
