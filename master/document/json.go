package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// jsonReader reads the tokens of a JSON document and records their positions. json.Valid has
// accepted the text before, except for its depth.
type jsonReader struct {
	file     string
	src      []byte
	decoder  *json.Decoder
	at       int // line and column are the position of this byte
	line     int
	column   int
	problems []Problem
	paths    int // bytes of the paths of all values
	deep     bool
	limits   Limits
}

// ParseJSON reads valid JSON within the limits. It returns either a tree or problems.
func ParseJSON(file string, src []byte, l Limits) (*Node, []Problem) {
	r := &jsonReader{
		file: file, src: src, limits: l, decoder: json.NewDecoder(bytes.NewReader(src)),
		line: 1, column: 1,
	}
	r.decoder.UseNumber()
	root := r.value("", 1)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	return root, nil
}

// next returns the next token and an empty node at its position.
func (r *jsonReader) next() (json.Token, *Node) {
	start := int(r.decoder.InputOffset())
	for start < len(r.src) && bytes.IndexByte([]byte(" \t\r\n,:"), r.src[start]) >= 0 {
		start++
	}
	for r.at < start {
		c, width := utf8.DecodeRune(r.src[r.at:])
		if c == '\n' {
			r.line, r.column = r.line+1, 0
		}
		r.column++
		r.at += width
	}
	n := &Node{Line: r.line, Column: r.column, Size: 1, Depth: 1}
	t, err := r.decoder.Token()
	if err != nil {
		r.fail(n, "", "not valid JSON: "+err.Error())
		r.deep = true // nothing more can be read
	}
	return t, n
}

func (r *jsonReader) fail(n *Node, path, message string) {
	r.problems = append(r.problems, Problem{
		File: r.file, Line: n.Line, Column: n.Column, Path: path, Message: message})
}

func (r *jsonReader) value(path string, depth int) *Node {
	t, n := r.next()
	if r.paths += len(path); r.paths > MaxPaths {
		if !r.deep {
			r.fail(n, "", PathsMessage())
		}
		r.deep = true
		return n
	}
	switch t := t.(type) {
	case bool:
		n.Kind, n.b, n.Text = BoolKind, t, fmt.Sprint(t)
	case string:
		n.Kind, n.Text = StringKind, t
		if !storableText(t) {
			r.fail(n, path, unstorableMessage)
		}
	case json.Number:
		n.Text = t.String()
		n.resolve()
	case json.Delim:
		r.composite(n, t, path, depth)
	}
	if !n.Measure(r.limits) {
		r.fail(n, path, n.excess(r.limits))
		n.Items, n.Fields, n.Size, n.Bytes, n.Depth = nil, nil, 1, 0, 1
	}
	return n
}

func (r *jsonReader) composite(n *Node, open json.Delim, path string, depth int) {
	if depth > r.limits.depth {
		if !r.deep {
			r.fail(n, path, (&Node{Depth: depth}).excess(r.limits))
		}
		r.deep = true
		return
	}
	if open == '[' {
		n.Kind = ListKind
		for !r.deep && r.decoder.More() {
			n.Items = append(n.Items, r.value(Index(path, len(n.Items)), depth+1))
		}
	} else {
		n.Kind = MapKind
		r.members(n, path, depth)
	}
	if !r.deep {
		_, _ = r.next()
	}
}

func (r *jsonReader) members(n *Node, path string, depth int) {
	seen := map[string]int{}
	for !r.deep && r.decoder.More() {
		t, key := r.next()
		name, _ := t.(string)
		if !storableText(name) {
			r.fail(key, path, "a key "+unstorableMessage)
		}
		value := r.value(Join(path, name), depth+1)
		if first, twice := seen[name]; twice {
			r.fail(key, Join(path, name), fmt.Sprintf("appears twice; the first is on line %d", first))
			continue
		}
		seen[name] = key.Line
		n.Fields = append(n.Fields, Field{Key: name, Line: key.Line, Column: key.Column, Value: value})
	}
}
