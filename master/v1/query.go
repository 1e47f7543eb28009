package v1

import (
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// The request of an endpoint with the method GET is a struct that has a field for each parameter of
// the query: text, numbers, booleans, times, or lists of them. A parameter that a request leaves out,
// or leaves empty, does not change its field; where that must differ from zero, the field is a pointer.

// Window is the part of a list that a request selects.
type Window struct {
	Limit  int `json:"limit"`
	Offset int `json:"offset"`
}

// Order is the order of a list.
type Order struct {
	OrderBy string `json:"orderBy"`
	SortBy  string `json:"sortBy"`
}

// A Parameter is a parameter of a query.
type Parameter struct {
	Name  string
	Type  reflect.Type
	field []int // index
}

// Parameters lists the parameters of a request's type, in the order of its fields; none for nil.
func Parameters(request reflect.Type) (list []Parameter) {
	if request == nil {
		return nil
	}
	for _, f := range reflect.VisibleFields(request) {
		if !f.Anonymous {
			list = append(list, Parameter{f.Tag.Get("json"), f.Type, f.Index})
		}
	}
	return list
}

// ParseQuery parses a query into request, which points to a struct; values returns the values of a parameter.
func ParseQuery(request any, values func(name string) []string) error {
	v := reflect.ValueOf(request).Elem()
	for _, p := range Parameters(v.Type()) {
		texts, field := values(p.Name), v.FieldByIndex(p.field)
		switch {
		case len(texts) == 0:
		case field.Kind() == reflect.Slice:
			field.Set(reflect.MakeSlice(p.Type, len(texts), len(texts)))
			for i, text := range texts {
				if err := p.parse(text, field.Index(i)); err != nil {
					return err
				}
			}
		case texts[0] != "":
			if err := p.parse(texts[0], field); err != nil {
				return err
			}
		}
	}
	return nil
}

// FormatQuery returns the parameters of a request, which points to a struct; ParseQuery parses them to
// an equal request. It leaves out fields that are zero.
func FormatQuery(request any) url.Values {
	query, v := url.Values{}, reflect.ValueOf(request).Elem()
	for _, p := range Parameters(v.Type()) {
		field := v.FieldByIndex(p.field)
		switch {
		case field.IsZero():
		case field.Kind() == reflect.Slice:
			for i := range field.Len() {
				query.Add(p.Name, formatted(field.Index(i)))
			}
		default:
			query.Set(p.Name, formatted(reflect.Indirect(field)))
		}
	}
	return query
}

func formatted(v reflect.Value) string {
	if at, ok := v.Interface().(time.Time); ok {
		return at.UTC().Format(time.RFC3339Nano)
	}
	return fmt.Sprint(v.Interface())
}

// parse parses one value.
func (p Parameter) parse(text string, v reflect.Value) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	var err error
	expected := ""
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		var n int64
		bits := 32
		if v.Kind() == reflect.Int64 {
			bits = 64
		}
		n, err = strconv.ParseInt(text, 10, bits)
		v.SetInt(n)
		expected = "an integer"
	case reflect.Float64:
		var n float64
		n, err = strconv.ParseFloat(text, 64)
		v.SetFloat(n)
		expected = "a number"
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v.SetBool(b)
		expected = "true or false"
	default:
		var at time.Time
		at, err = ParseTime(text)
		v.Set(reflect.ValueOf(at))
		expected = "a time such as 2026-01-31T00:00:00Z"
	}
	if err != nil {
		return fault.New(fault.Invalid, "%s: expected %s, found %q", p.Name, expected, fault.Clip(text))
	}
	return nil
}

// ParameterNames lists the names of an endpoint's parameters.
func (l Line) ParameterNames() []string {
	names := slices.Clone(l.Others)
	for _, p := range Parameters(l.Query) {
		names = append(names, p.Name)
	}
	return names
}
