package server

import "strings"

// sources tells where each key was set: a place in the file, a variable of the environment, or --set.
type sources map[string]string

// override says that a key, with all below it, was set by another source than the file.
func (s sources) override(key, by string) {
	if key == "" {
		return
	}
	for k := range s {
		if within(k, key) {
			delete(s, k)
		}
	}
	s[key] = by
}

// of is what goes before a problem "key: message": where the key was set, or the nearest section that has a place; "" if nobody set any.
func (s sources) of(problem string) string {
	key, _, _ := strings.Cut(problem, ":")
	key, _, _ = strings.Cut(key, ",") // of "a, b", the first
	for key != "" {
		if at, ok := s[key]; ok {
			return at + ": "
		}
		key = key[:max(0, strings.LastIndexAny(key, ".["))]
	}
	return ""
}

// within reports whether a key is another one, or below it.
func within(key, section string) bool {
	rest, ok := strings.CutPrefix(key, section)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
