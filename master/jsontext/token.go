package jsontext

// Token returns the first token of a text and what follows it: a string with its quotes, a number, a word, or one byte of
// punctuation; nil at the end. The text must be valid JSON.
func Token(text []byte) (token, rest []byte) {
	i := 0
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	if text = text[i:]; len(text) == 0 {
		return nil, nil
	}
	n := 1
	switch c := text[0]; {
	case c == '"':
		n = stringEnd(text)
	case IsNumber(text):
		for n < len(text) && inNumber(text[n]) {
			n++
		}
	case c >= 'a' && c <= 'z':
		for n < len(text) && text[n] >= 'a' && text[n] <= 'z' {
			n++
		}
	}
	return text[:n], text[n:]
}

// IsNumber reports whether a token is a number.
func IsNumber(token []byte) bool { return token[0] == '-' || token[0] >= '0' && token[0] <= '9' }

func inNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '-' || c == '+'
}

// stringEnd returns the length of the string with which a text begins, with its quotes.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(text)
}
