// Package v1test lets fake masters in tests serve endpoints of the table in v1.
package v1test

import (
	"strings"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Pattern returns an endpoint in the form of http.ServeMux: GET /api/v1/trials/{id}. The part *
// is named rest.
func Pattern(l v1.Line) string {
	parts := strings.Split(l.Pattern(), "/")
	for i, part := range parts {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			parts[i] = "{" + name + "}"
		} else if part == "*" {
			parts[i] = "{rest...}"
		}
	}
	return l.Method + " " + strings.Join(parts, "/")
}
