// Package v1test lets the fake masters of tests answer at endpoints of the table in v1:
// with the table's method and path, and with messages of the table's types only.
package v1test

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Pattern is an endpoint as http.ServeMux names it: GET /api/v1/trials/{id}. What the
// table calls * is called rest.
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

// Check says what is wrong with a message as the answer of an endpoint.
func Check(l v1.Line, message any) error {
	if got := reflect.TypeOf(message); !l.Stream && l.Resp != nil && got != l.Resp {
		return fmt.Errorf("a fake answers %s with %v, where the table of endpoints says %v", Pattern(l), got, l.Resp)
	}
	return nil
}

// As turns a loose message, such as a map, into the type of the endpoint's answer.
func As(l v1.Line, message any) (any, error) {
	text, err := v1.Marshal(message)
	if err != nil {
		return nil, err
	}
	typed := reflect.New(l.Resp)
	if err := v1.Unmarshal(text, typed.Interface()); err != nil {
		return nil, fmt.Errorf("%s: %w", Pattern(l), err)
	}
	return typed.Elem().Interface(), nil
}

// A Handler of a fake answers with a message, or with nil when it has written itself.
type Handler func(w http.ResponseWriter, r *http.Request) (any, error)
