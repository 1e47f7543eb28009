package rest

import (
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
)

// otherMethods answers a request whose path exists with other methods only. Like the other routes that
// a method lacks, it is 501: Determined's clients know this status. It compares paths itself, because a
// route of the router for each path and method takes a megabyte.
func (r *Router) otherMethods() {
	known := r.pathMethods()
	r.app.Use("/api/", func(c *fiber.Ctx) error {
		k := methodsOf(known, c.Path())
		if k == nil {
			return c.Next()
		}
		allow := strings.Join(k.methods, ", ")
		c.Set(fiber.HeaderAllow, allow)
		return fault.New(fault.Unimplemented, "Method Not Allowed: %s has no method %s; it has %s", c.Path(), c.Method(), allow)
	})
}

// pathMethods lists the paths of all routes with their methods.
func (r *Router) pathMethods() (known []*pathMethods) {
	for _, x := range r.routes {
		pattern := strings.Split(x.Pattern()[1:], "/")
		i := slices.IndexFunc(known, func(k *pathMethods) bool { return slices.Equal(k.pattern, pattern) })
		if i < 0 {
			i, known = len(known), append(known, &pathMethods{pattern: pattern})
		}
		known[i].methods = append(known[i].methods, x.Method)
	}
	for _, k := range known {
		slices.SortFunc(k.methods, func(a, b string) int { return slices.Index(methodOrder, a) - slices.Index(methodOrder, b) })
	}
	return known
}

// methodOrder is the order of methods in answers.
var methodOrder = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

// methodsOf finds the methods of a path; nil: there is no such path.
func methodsOf(known []*pathMethods, path string) *pathMethods {
	path = strings.TrimRight(path, "/")
	i := slices.IndexFunc(known, func(k *pathMethods) bool { return k.matches(path) })
	if i < 0 {
		return nil
	}
	return known[i]
}

// pathMethods has the methods of a path. A part of the pattern with a colon is any text, and the
// last part * any parts.
type pathMethods struct{ pattern, methods []string }

func (k *pathMethods) matches(path string) bool {
	for _, part := range k.pattern {
		rest, ok := strings.CutPrefix(path, "/")
		if !ok || rest == "" {
			return false
		}
		if part == "*" {
			return true
		}
		end := strings.IndexByte(rest, '/')
		if end < 0 {
			end = len(rest)
		}
		if part[0] != ':' && part != rest[:end] || end == 0 {
			return false
		}
		path = rest[end:]
	}
	return path == ""
}

// dialectOf is the dialect of a path; nil: our own.
func (r *Router) dialectOf(path string) *Dialect {
	i := slices.IndexFunc(r.dialects, func(d Dialect) bool { return strings.HasPrefix(path, d.Prefix) })
	if i < 0 {
		return nil
	}
	return &r.dialects[i]
}

// mountDialects answers requests for a path of a dialect with a method that the path does not have.
func (r *Router) mountDialects() {
	for _, d := range r.dialects {
		r.app.Use(d.Prefix, func(fc *fiber.Ctx) error {
			var methods []string
			for _, x := range r.routes {
				if strings.HasPrefix(x.Pattern(), d.Prefix) && fiber.RoutePatternMatch(fc.Path(), x.Pattern()) {
					methods = append(methods, x.Method)
				}
			}
			if len(methods) == 0 {
				return fc.Next()
			}
			fc.Set(fiber.HeaderAllow, strings.Join(methods, ", "))
			return d.OtherMethod(r.callOf(fc))
		})
	}
}
