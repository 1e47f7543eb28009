// Package quote writes words so that other programs read them as they are.
package quote

import (
	"strconv"
	"strings"
)

// Shell quotes a word for a POSIX shell.
func Shell(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// Word is a word of a command that somebody may type: quoted only where a shell needs it.
func Word(word string) string {
	special := strings.IndexFunc(word, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-", r)
	}) >= 0
	if special || word == "" {
		return Shell(word)
	}
	return word
}

// Cell writes a text of a user for a cell of a CSV file. A spreadsheet would run a text such as
// =HYPERLINK(…) as a formula, with the rights of the user who opens the file; after an apostrophe it is a text.
func Cell(text string) string {
	if text == "" || text == "-" || !strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return text
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return text
	}
	return "'" + text
}
