package rest

import (
	"net"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
)

// A Request is what a client has sent, but for the body: path, query, headers, and where it comes from.
type Request struct {
	ctx    *fiber.Ctx
	router *Router
}

// Param is a variable part of the path; its name is that in the endpoint's path.
func (q *Request) Param(name string) string { return q.ctx.Params(name) }

// Params are all variable parts of the path, in their order.
func (q *Request) Params() []string {
	return each.Of(q.ctx.Route().Params, func(name string) string { return q.ctx.Params(name) })
}

// Get is a header of the request.
func (q *Request) Get(header string) string { return q.ctx.Get(header) }

// Path is the path of the request.
func (q *Request) Path() string { return q.ctx.Path() }

// PathAsSent is the path of the request as its client has escaped it.
func (q *Request) PathAsSent() string { return string(q.ctx.Request().URI().PathOriginal()) }

// QueryString is the query as the client sent it, without the question mark.
func (q *Request) QueryString() string { return string(q.ctx.Request().URI().QueryString()) }

// Method is the method of the request.
func (q *Request) Method() string { return q.ctx.Method() }

// Host is the host that the request names, with its port.
func (q *Request) Host() string { return string(q.ctx.Request().Host()) }

// Secure reports whether the request came over HTTPS.
func (q *Request) Secure() bool { return q.ctx.Protocol() == "https" }

// Conn is the connection of the request.
func (q *Request) Conn() net.Conn { return q.ctx.Context().Conn() }

// RemoteIP is the address at the other end of the connection, which may be a proxy's.
func (q *Request) RemoteIP() net.IP { return q.ctx.Context().RemoteIP() }

// Accepts chooses from the types of an answer the one that the client prefers; "": it accepts none of them.
func (q *Request) Accepts(offers ...string) string { return q.ctx.Accepts(offers...) }

// reads reports whether the request asks for something.
func (q *Request) reads() bool {
	return q.ctx.Method() == fiber.MethodGet || q.ctx.Method() == fiber.MethodHead
}

// ID parses a path parameter that is a number.
func (q *Request) ID(name string) (int, error) {
	n, err := Number(q.Param(name))
	if err != nil || n < 0 {
		return 0, fault.New(fault.Invalid, "%q is not an id: a whole number was expected", fault.Clip(q.Param(name)))
	}
	return n, nil
}

// Number parses an integer of 32 bits.
func Number(s string) (int, error) {
	n, err := strconv.ParseInt(s, 10, 32)
	return int(n), err
}

// Query finds a parameter by its camelCase or snake_case name.
func (q *Request) Query(name string) (string, bool) {
	args := q.ctx.Context().QueryArgs()
	for _, n := range []string{name, snakeCase(name)} {
		if args.Has(n) {
			return string(args.Peek(n)), true
		}
	}
	return "", false
}

// values returns the values of a parameter by its camelCase or snake_case name.
func (q *Request) values(name string) []string {
	var out []string
	for _, n := range []string{name, snakeCase(name)} {
		for _, v := range q.ctx.Context().QueryArgs().PeekMulti(n) {
			out = append(out, string(v))
		}
		if len(out) > 0 || n == snakeCase(n) {
			break
		}
	}
	return out
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
