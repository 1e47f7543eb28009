package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A call has the caller and the parameters of a request.
type call struct {
	*fiber.Ctx
	who     auth.Who
	scope   auth.Scope           // the objects on which the caller may perform the endpoint's verb; lists contain only these
	allowed func(auth.Who) error // checks whether a caller may call the route
	files   *submission          // the files in the body; nil: none
	change  *share               // of the requests that change something at once; nil: it needs none
	turn    *share               // of the answers that are read at once; nil: it needs none
	// reports records that a user reports about an object; nil: the call is no such report.
	reports func(is auth.Object, refusal error) error
}

// may fails unless the caller may perform the verb on the object.
func (c *call) may(verb auth.Verb, object auth.Object) error {
	err := auth.May(c.who, verb, object)
	if verb == auth.Report && c.reports != nil {
		return cmp.Or(c.reports(object, err), err)
	}
	return err
}

// id parses a path parameter that is a number.
func (c *call) id(name string) (int, error) {
	n, err := number(c.Params(name))
	if err != nil || n < 0 {
		return 0, fault.New(fault.Invalid, "%q is not an id: a whole number was expected", fault.Clip(c.Params(name)))
	}
	return n, nil
}

// query finds a parameter by its camelCase or snake_case name.
func (c *call) query(name string) (string, bool) {
	args := c.Context().QueryArgs()
	for _, n := range []string{name, snakeCase(name)} {
		if args.Has(n) {
			return string(args.Peek(n)), true
		}
	}
	return "", false
}

// values returns the values of a parameter by its camelCase or snake_case name.
func (c *call) values(name string) []string {
	var out []string
	for _, n := range []string{name, snakeCase(name)} {
		for _, v := range c.Context().QueryArgs().PeekMulti(n) {
			out = append(out, string(v))
		}
		if len(out) > 0 || n == snakeCase(n) {
			break
		}
	}
	return out
}

// number parses an integer of 32 bits.
func number(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err
}

// send sends a message.
func (c *call) send(message any) error {
	b, err := c.encode(message)
	if err != nil {
		return err
	}
	return c.Send(b)
}

// encode encodes a message as JSON, and names its type.
func (c *call) encode(message any) ([]byte, error) {
	b, err := v1.Marshal(message)
	if err != nil {
		return nil, err
	}
	if c.Context().QueryArgs().Has("pretty") {
		var buf bytes.Buffer
		if indentedSize(b) <= maxPretty*len(b) && json.Indent(&buf, b, "", "  ") == nil {
			b = buf.Bytes()
		}
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return b, nil
}

// maxPretty is how many times as long as an answer its indented form may be. Lists within lists within
// lists would become thousands of times as long; such an answer stays as it is.
const maxPretty = 8

// indentedSize is about the size of JSON that json.Indent writes with two spaces.
func indentedSize(b []byte) int {
	size, depth, text := len(b), 0, false
	for i := 0; i < len(b); i++ {
		switch ch := b[i]; {
		case text && ch == '\\':
			i++
		case ch == '"':
			text = !text
		case text:
		case ch == '{' || ch == '[':
			depth++
			size += 1 + 2*depth
		case ch == '}' || ch == ']':
			depth--
			size += 1 + 2*depth
		case ch == ',':
			size += 1 + 2*depth
		case ch == ':':
			size++
		}
	}
	return size
}

func snakeCase(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
