package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// parseDocument parses YAML or JSON into a tree of nodes within the limits of node.go. It
// returns either a tree or problems.
func Parse(file string, src []byte, l Limits) (*Node, []Problem) {
	if len(src) > l.source {
		return nil, []Problem{{File: file, Line: 1, Column: 1, Message: fmt.Sprintf(
			"the document has %d bytes; at most %d are allowed", len(src), l.source)}}
	}
	if p, ok := Unreadable(file, src); !ok {
		return nil, []Problem{p}
	}
	src = bytes.TrimPrefix(src, []byte("\uFEFF"))
	if trimmed := bytes.TrimLeft(src, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(src) {
		return ParseJSON(file, src, l)
	}
	return parseYAML(file, src)
}

// Unreadable finds the first byte or character of src that is not valid text.
func Unreadable(file string, src []byte) (Problem, bool) {
	line, column := 1, 1
	for i := 0; i < len(src); {
		r, width := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && width <= 1:
			return Problem{File: file, Line: line, Column: column,
				Message: fmt.Sprintf("the byte 0x%02x is not UTF-8 text", src[i])}, false
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			return Problem{File: file, Line: line, Column: column,
				Message: fmt.Sprintf("the control character %U is not allowed", r)}, false
		case r == '\n':
			line, column = line+1, 0
		}
		column++
		i += width
	}
	return Problem{}, true
}

// parseYAML parses the text with the YAML library and converts the result. The library recurses
// as deep as its input, so the nesting is limited before. Some inputs make the library panic;
// the panic is reported as a problem of the input.
func parseYAML(file string, src []byte) (root *Node, problems []Problem) {
	defer func() {
		if recover() != nil {
			root, problems = nil, []Problem{{File: file, Line: 1, Column: 1,
				Message: "this is not valid YAML"}}
		}
	}()
	tokens := lexer.Tokenize(string(src))
	if p, ok := tooMuch(tokens); ok {
		p.File = file
		return nil, []Problem{p}
	}
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, []Problem{syntaxProblem(file, src, err)}
	}
	c := converter{file: file, anchors: map[string]*Node{}}
	root = c.document(parsed)
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return root, nil
}

// tooMuch finds tokens that exceed the limits of the parser: nesting past maxDepth, counting
// open flow brackets and the markers that can follow each other on one line ("- - - -"), more
// than maxKeys keys or documents, more than maxNodes entries of lists, and paths of more than maxPaths.
func tooMuch(tokens token.Tokens) (Problem, bool) {
	flow, piled, line, keys, entries := 0, 0, 0, 0, 0
	var names paths
	for _, t := range tokens {
		if t.Position.Line != line {
			line, piled = t.Position.Line, 0
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			flow++
		case token.MappingEndType, token.SequenceEndType:
			flow--
			piled = 0
		case token.CollectEntryType:
			piled = 0
			entries++
		case token.MappingValueType:
			piled++
			keys++
		case token.MappingKeyType:
			piled++
			keys++
		case token.DocumentHeaderType:
			keys++
		case token.SequenceEntryType:
			piled++
			entries++
		case token.TagType, token.AnchorType:
			piled++
		}
		names.see(t)
		p := Problem{Line: max(1, t.Position.Line), Column: max(1, t.Position.Column)}
		switch {
		case flow+piled > maxDepth:
			p.Message = tooDeepMessage()
		case keys > maxKeys:
			p.Message = fmt.Sprintf("more than %d keys", maxKeys)
		case entries > maxNodes:
			p.Message = fmt.Sprintf("more than %d values", maxNodes)
		case names.total > MaxPaths:
			p.Message = PathsMessage()
		default:
			continue
		}
		return p, true
	}
	return Problem{}, false
}

// paths adds up the lengths of the paths that the parser makes for tokens.
type paths struct {
	total int
	open  []openKey // the keys around the next token, and a key without a name for each open bracket
}

type openKey struct {
	column int // 0: a bracket
	length int // of the path to its value
}

const indexLength = 8 // of a place in a list, such as [12345]

func (p *paths) see(t *token.Token) {
	switch t.Type {
	case token.MappingStartType, token.SequenceStartType:
		p.open = append(p.open, openKey{length: p.length()})
	case token.MappingEndType, token.SequenceEndType:
		p.entry()
		p.open = p.open[:max(0, len(p.open)-1)]
	case token.CollectEntryType:
		p.entry()
	case token.MappingValueType:
		if key := t.Prev; key != nil {
			p.close(key.Position.Column)
			p.open = append(p.open, openKey{column: max(1, key.Position.Column), length: p.length() + len(key.Value) + 1})
		}
	}
	p.total += p.length() + indexLength
}

func (p *paths) length() int {
	if len(p.open) == 0 {
		return 0
	}
	return p.open[len(p.open)-1].length
}

// entry ends the keys within the innermost bracket.
func (p *paths) entry() { p.close(0) }

// close ends the keys that do not contain a key at a column, up to the innermost bracket.
func (p *paths) close(column int) {
	for n := len(p.open); n > 0 && p.open[n-1].column > 0 && p.open[n-1].column >= column; n-- {
		p.open = p.open[:n-1]
	}
}

func tooDeepMessage() string {
	return fmt.Sprintf("nested more than %d levels deep", maxDepth)
}

// excess returns which limit a node exceeds.
func (n *Node) excess(l Limits) string {
	switch {
	case n.Depth > l.depth:
		return fmt.Sprintf("nested more than %d levels deep", l.depth)
	case n.Size > l.nodes:
		return fmt.Sprintf("more than %d values, aliases counted each time they are used", l.nodes)
	}
	return fmt.Sprintf("more than %d bytes of text, aliases counted each time they are used", l.text)
}

func syntaxProblem(file string, src []byte, err error) Problem {
	p := Problem{File: file, Line: 1, Column: 1}
	var syntax *yaml.SyntaxError
	if !errors.As(err, &syntax) {
		p.Message = "not valid YAML: " + err.Error() // of a SyntaxError, it would draw the document, in quadratic time
	} else {
		p.Message = "not valid YAML: " + strings.TrimSpace(syntax.Message)
		if t := syntax.Token; t != nil && t.Position != nil {
			p.Line, p.Column = max(1, t.Position.Line), max(1, t.Position.Column)
			p.moveToColon(t, src)
		}
	}
	if first, _, more := strings.Cut(p.Message, "\n"); more {
		p.Message = first
	}
	return p
}

// moveToColon corrects the position of a key that is indented too deep. For YAML such a line continues the text above, so
// the library's position is where the text begins; the fault is in the line of the colon.
func (p *Problem) moveToColon(text *token.Token, src []byte) {
	colon := text.Next
	if text.Type != token.StringType || colon == nil || colon.Type != token.MappingValueType || colon.Position == nil || colon.Position.Line <= p.Line {
		return
	}
	lines := bytes.Split(src, []byte("\n"))
	if colon.Position.Line > len(lines) {
		return
	}
	line := lines[colon.Position.Line-1]
	p.Line, p.Column = colon.Position.Line, 1+len(line)-len(bytes.TrimLeft(line, " "))
	if p.Column > 1 {
		p.Hint = "the line is indented too deep, or a colon is missing above it"
	}
}

// converter converts the library's syntax tree to nodes and expands aliases and merge keys.
type converter struct {
	file     string
	anchors  map[string]*Node
	merged   int // fields that merge keys have looked at
	problems []Problem
}

func (c *converter) fail(n *Node, path, message string) {
	c.problems = append(c.problems, Problem{
		File: c.file, Line: n.Line, Column: n.Column, Path: path, Message: message})
}

// document returns the root mapping; an empty document is an empty mapping.
func (c *converter) document(parsed *ast.File) *Node {
	empty := &Node{Kind: MapKind, Line: 1, Column: 1, Size: 1, Depth: 1}
	var bodies []ast.Node
	for _, doc := range parsed.Docs {
		if doc.Body != nil {
			if _, comment := doc.Body.(*ast.CommentGroupNode); !comment {
				bodies = append(bodies, doc.Body)
			}
		}
	}
	if len(bodies) == 0 {
		return empty
	}
	root := c.node(bodies[0], "")
	if len(bodies) > 1 {
		c.fail(place(bodies[1]), "", "a second document begins here; a configuration is one document")
	}
	if root.Kind == NullKind {
		return empty
	}
	return root
}

// place returns an empty node at the position of a syntax node.
func place(a ast.Node) *Node {
	n := &Node{Line: 1, Column: 1, Size: 1, Depth: 1}
	if a == nil {
		return n
	}
	if t := a.GetToken(); t != nil && t.Position != nil {
		n.Line, n.Column = max(1, t.Position.Line), max(1, t.Position.Column)
	}
	return n
}

func (c *converter) node(a ast.Node, path string) *Node {
	n := place(a)
	switch a := a.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
	case *ast.MappingNode:
		n.Kind = MapKind
		if len(a.Values) > 0 && !a.IsFlowStyle {
			// The library's position of a block mapping is its first colon.
			first := place(a.Values[0].Key)
			n.Line, n.Column = first.Line, first.Column
		}
		c.mapping(n, a.Values, path)
	case *ast.MappingValueNode:
		n.Kind = MapKind
		c.mapping(n, []*ast.MappingValueNode{a}, path)
	case *ast.SequenceNode:
		n.Kind = ListKind
		for i, item := range a.Values {
			n.Items = append(n.Items, c.node(item, Index(path, i)))
		}
	case *ast.AnchorNode:
		value := c.node(a.Value, path)
		c.anchors[a.Name.GetToken().Value] = value
		return value
	case *ast.AliasNode:
		target, ok := c.anchors[a.Value.GetToken().Value]
		if !ok {
			c.fail(n, path, fmt.Sprintf("there is no anchor named %q above this alias", a.Value.GetToken().Value))
			return n
		}
		return target
	case *ast.TagNode:
		return c.tagged(a, path)
	case *ast.LiteralNode:
		n.Kind, n.Text = StringKind, a.Value.Value
	case *ast.StringNode:
		n.Text = a.Value
		n.Kind = StringKind
		if t := a.GetToken(); t.Type != token.SingleQuoteType && t.Type != token.DoubleQuoteType {
			n.resolve()
		}
	case ast.ScalarNode:
		n.Text = a.GetToken().Value
		n.resolve()
	default:
		c.fail(n, path, "this kind of YAML value is not supported")
	}
	if n.Kind == StringKind && !storableText(n.Text) {
		c.fail(n, path, unstorableMessage)
	}
	c.bound(n, path)
	return n
}

// bound measures a complete node and removes its children if it exceeds a limit, so that only
// the first excess is reported.
func (c *converter) bound(n *Node, path string) {
	if n.Measure(UserLimits()) {
		return
	}
	c.fail(n, path, n.excess(UserLimits()))
	n.Items, n.Fields, n.Size, n.Bytes, n.Depth = nil, nil, 1, 0, 1
}

func (c *converter) mapping(n *Node, values []*ast.MappingValueNode, path string) {
	seen := make(map[string]Field, len(values))
	var merged []*Node
	for _, v := range values {
		key := place(v.Key)
		if _, ok := v.Key.(*ast.MergeKeyNode); ok {
			merged = append(merged, c.node(v.Value, path))
			continue
		}
		name, ok := c.key(v.Key)
		if !ok {
			c.fail(key, path, "a key must be a string, a number or a boolean")
			continue
		}
		if !storableText(name) {
			c.fail(key, path, "a key "+unstorableMessage)
			continue
		}
		value := c.node(v.Value, Join(path, name))
		if value.Kind == NullKind && value.Text == "" {
			value.Line, value.Column = key.Line, key.Column
		}
		if first, twice := seen[name]; twice {
			c.fail(key, Join(path, name), fmt.Sprintf("appears twice; the first is on line %d", first.Line))
			continue
		}
		f := Field{Key: name, Line: key.Line, Column: key.Column, Value: value}
		seen[name] = f
		n.Fields = append(n.Fields, f)
	}
	for _, m := range merged {
		c.mergeKey(n, m, seen, path)
	}
}

// key returns the text of a mapping key; numbers and booleans become text.
func (c *converter) key(k ast.MapKeyNode) (string, bool) {
	var inner ast.Node = k
	if complexKey, ok := inner.(*ast.MappingKeyNode); ok {
		inner = complexKey.Value
	}
	switch inner := inner.(type) {
	case *ast.StringNode:
		return inner.Value, true
	case *ast.LiteralNode:
		return inner.Value.Value, true
	case ast.ScalarNode:
		return inner.GetToken().Value, true
	}
	return "", false
}

// mergeKey applies "<<": it adds the fields of from that n does not have, which seen tells.
func (c *converter) mergeKey(n, from *Node, seen map[string]Field, path string) {
	before := c.merged
	if c.merged += len(from.Fields) + len(from.Items); c.merged > maxNodes {
		if before <= maxNodes {
			c.fail(from, path, fmt.Sprintf("<< looks at more than %d fields in this document", maxNodes))
		}
		return
	}
	switch from.Kind {
	case MapKind:
		for _, f := range from.Fields {
			if _, has := seen[f.Key]; !has {
				seen[f.Key] = f
				n.Fields = append(n.Fields, f)
			}
		}
	case ListKind:
		for _, item := range from.Items {
			if item.Kind != MapKind {
				c.fail(item, path, "<< requires mappings, found "+item.Describe())
				continue
			}
			c.mergeKey(n, item, seen, path)
		}
	default:
		c.fail(from, path, "<< requires a mapping, found "+from.Describe())
	}
}

// tagged applies the tags of the core schema; other tags are not supported.
func (c *converter) tagged(a *ast.TagNode, path string) *Node {
	n := c.node(a.Value, path)
	copied := *n
	n = &copied
	tag := a.GetToken().Value
	var ok bool
	switch tag {
	case "!!str":
		ok = n.Kind != ListKind && n.Kind != MapKind
		n.Kind, n.word = StringKind, false
	case "!!int":
		n.resolve()
		ok = n.Kind == IntKind
	case "!!float":
		n.resolve()
		ok = n.Kind == FloatKind || n.Kind == IntKind
	case "!!bool":
		n.resolve()
		ok = n.Kind == BoolKind
	case "!!null":
		ok = n.Kind == NullKind
	case "!!map":
		ok = n.Kind == MapKind
	case "!!seq":
		ok = n.Kind == ListKind
	default:
		c.fail(n, path, fmt.Sprintf("the tag %s is not supported", Clip(tag)))
		return n
	}
	if !ok {
		c.fail(n, path, fmt.Sprintf("the tag %s does not fit %s", tag, n.Describe()))
	}
	return n
}
