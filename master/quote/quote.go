// Package quote writes words so that other programs read them as they are.
package quote

import "strings"

// Shell quotes a word for a POSIX shell.
func Shell(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
