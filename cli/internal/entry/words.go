package entry

import "strings"

// unknown marks a word that only the shell knows.
const unknown = "$"

// opaque reports whether a word has characters that the shell replaces.
func opaque(word string) bool { return strings.ContainsAny(word, "$`*?[{~!\\") }

// firstCommand splits the first command of a shell's line into words. It returns nothing for a line that it cannot
// parse, and for a command that another one replaces if it fails (a || b).
func firstCommand(line string) []string {
	var words []string
	var word strings.Builder
	begun := false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\'' || c == '"':
			size := strings.IndexByte(line[i+1:], c)
			if size < 0 {
				return nil
			}
			text := line[i+1 : i+1+size]
			if strings.ContainsAny(text, "$`*?[{~!\\") {
				text = unknown
			}
			word.WriteString(text)
			begun = true
			i += size + 1
		case c == ' ' || c == '\t':
			end()
		case c == '(' || c == ')' || c == '#' && !begun:
			return nil
		case strings.HasPrefix(line[i:], "||"):
			return nil
		case strings.IndexByte(";&|<>\n", c) >= 0:
			end()
			return words
		default:
			word.WriteByte(c)
			begun = true
		}
	}
	end()
	return words
}
