package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/audit"
	v1 "github.com/detent-ml/detent/master/v1"
)

// hostileTexts are values of parameters that PostgreSQL, a number or a path cannot hold.
var hostileTexts = []string{"\x00", "a\x00b", "\xff", "99999999999999999999999", "2147483648", "9223372036854775807", "-9223372036854775808", "-1", "1e308", "NaN",
	"../../etc/passwd", "%", "((((", "{\"a\":", strings.Repeat("[", 3000), "0001-01-01T00:00:00Z", "294277-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}

// TestHostileParameters gives every parameter of every endpoint values that it cannot hold, as an
// admin, so that no check of rights rejects them before: the master never answers 500.
func TestHostileParameters(t *testing.T) {
	r := newRig(t)
	h := newHostile(t, r)
	for _, route := range r.api.router.Routes() {
		l := route.Line
		if h.skips(l) {
			continue
		}
		names := l.Names()
		for i := range names {
			for _, value := range hostileTexts {
				params := h.params(l)
				params[i] = value
				h.send(l, "/"+strings.TrimPrefix(escapedAt(l, params), "/"), "{}")
			}
		}
		path := escapedAt(l, h.params(l))
		for _, name := range l.ParameterNames() {
			for _, value := range hostileTexts {
				h.send(l, path+"?"+h.query(l, name, value).Encode(), "{}")
			}
		}
	}
	h.enough(3000)
}

// TestHostileBodies does the same with each field of each body, alone and with plausible values
// in the other fields.
func TestHostileBodies(t *testing.T) {
	r := newRig(t)
	h := newHostile(t, r)
	for _, route := range r.api.router.Routes() {
		l := route.Line
		if h.skips(l) || l.Req == nil || l.Method == http.MethodGet || l.Files != "" {
			continue
		}
		path := escapedAt(l, h.params(l))
		for _, leaf := range leavesOf(l.Req, nil, 4) {
			if len(leaf.path) == 0 {
				continue
			}
			for _, value := range leaf.hostile() {
				for _, full := range []bool{false, true} {
					root := map[string]any{}
					if full {
						for _, other := range leavesOf(l.Req, nil, 4) {
							put(root, other.path, h.plausible(other))
						}
					}
					put(root, leaf.path, value)
					b, err := json.Marshal(root)
					if err != nil {
						t.Fatal(err)
					}
					h.send(l, path, string(b))
				}
			}
		}
	}
	h.enough(1500)
	if n := h.text(`SELECT count(*)::text FROM audit WHERE ended_at IS NULL`); n != "0" {
		t.Errorf("%s entries of the trail have no result: %s", n, h.text(`SELECT string_agg(DISTINCT method || ' ' || path, ', ') FROM audit WHERE ended_at IS NULL`))
	}
}

// TestHostileOperations: a program sends hostile operations to its own search.
func TestHostileOperations(t *testing.T) {
	r := newRig(t, everySearcher)
	me := r.user("determined")
	path := fmt.Sprintf("/api/v1/experiments/%d/searcher_operations", me.create(drivenYAML))
	for i, op := range []string{
		`{"createTrial":{"requestId":"a\u0000","hyperparams":"{}"}}`,
		`{"createTrial":{"requestId":"b","hyperparams":"{\"a\":\"\\u0000\"}"}}`,
		`{"createTrial":{"requestId":"c","hyperparams":"{\"a\":1e9999}"}}`,
		`{"createTrial":{"requestId":"d","hyperparams":"{\"a\":\"\\ud800\"}"}}`,
		`{"createTrial":{"requestId":"e","hyperparams":"` + strings.Repeat(`{\"a\":`, 3000) + "1" + strings.Repeat("}", 3000) + `"}}`,
		`{"setSearcherProgress":{"progress":"NaN"}}`,
		`{"setSearcherProgress":{"progress":"Infinity"}}`,
	} {
		if got := me.post(path, `{"searcherOperations":[`+op+`]}`); got.code != 400 {
			t.Errorf("operation %d %.60s: %d %.300s", i, op, got.code, got.body)
		}
	}
}

// A hostile sends requests, and reports answers from 500 on, once for each endpoint.
type hostile struct {
	*rig
	t      *testing.T
	token  string
	values map[string]string
	found  map[string]bool
	sent   int
}

func newHostile(t *testing.T, r *rig) *hostile {
	t.Helper()
	h := &hostile{rig: r, t: t, values: ours(t, r), found: map[string]bool{}}
	*r.api.trail = *audit.New(t.Context(), r.db, slog.New(slog.DiscardHandler), audit.Limits{Changes: 1_000_000})
	r.node("n0", "node-0", 2)
	h.token = strings.TrimPrefix(r.user("admin").token, "Bearer ")
	h.values["users"], h.values["agents"] = "2", "node-0"
	return h
}

// skips leaves out what waits, ends the session, changes whom the test signs in as, or answers
// 501 or 503 because the test has no proxy, no log and no files.
func (h *hostile) skips(l v1.Line) bool {
	return l.Waits || l.Access == v1.ByTasks || l.Path == v1.Logout.Path || l.Path == v1.ResetUserSettings.Path ||
		strings.HasPrefix(l.Path, "/users/:id") && l.Method != http.MethodGet
}

func (h *hostile) params(l v1.Line) []string {
	var params []string
	for i, name := range l.Names() {
		value := map[string]string{"version": "1", "delivery": "1", "workload": "EXPERIMENT", "slot": "0", "pool": "default", "rank": "0"}[name]
		if object, has := h.values[first(l.Path)]; i == 0 && has {
			value = object
		}
		params = append(params, map[bool]string{true: "x", false: value}[value == ""])
	}
	return params
}

func escapedAt(l v1.Line, params []string) string {
	values := make([]any, len(params))
	for i, p := range params {
		values[i] = p
	}
	return l.At(values...)
}

// query is a query with the parameters that an endpoint needs.
func (h *hostile) query(l v1.Line, name, value string) url.Values {
	q := url.Values{}
	if _, text, has := strings.Cut(filled(l, "1"), "?"); has {
		q, _ = url.ParseQuery(text)
	}
	for _, other := range l.ParameterNames() {
		switch { // of streams about objects
		case strings.HasSuffix(strings.ToLower(other), "trialids"), strings.HasSuffix(strings.ToLower(other), "trial_ids"):
			q.Set(other, h.values["trials"])
		case other == "ids" || other == "experimentIds":
			q.Set(other, h.values["experiments"])
		}
	}
	q.Set(name, value)
	return q
}

func (h *hostile) plausible(f leaf) any {
	name := strings.ToLower(f.path[len(f.path)-1])
	for noun, id := range h.values {
		if one := strings.TrimSuffix(noun, "s"); name == one+"id" || name == one+"ids" {
			if f.kind.Kind() == reflect.String {
				return id
			}
			if n := json.Number(id); json.Valid([]byte(id)) {
				return n
			}
		}
	}
	switch f.kind.Kind() {
	case reflect.Bool:
		return false
	case reflect.String:
		return "x"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return 1
	}
	return map[string]any{}
}

func (h *hostile) send(l v1.Line, path, body string) {
	h.sent++
	name := l.Method + " " + l.Path
	if h.found[name] {
		return
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), 10*time.Second)
	defer cancel()
	if l.Method == http.MethodGet {
		body = ""
	}
	req, err := http.NewRequestWithContext(ctx, l.Method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	if l.Stream { // an open stream has an answer, and no end
		ctx, end := context.WithTimeout(ctx, 500*time.Millisecond)
		defer end()
		req = req.WithContext(ctx)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		if !l.Stream {
			h.t.Errorf("%s %.300s: %v", l.Method, path, err)
			h.found[name] = true
		}
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusInternalServerError || resp.StatusCode == http.StatusBadGateway {
		b, _ := io.ReadAll(resp.Body)
		h.t.Errorf("%s %.300s with %.300s: %d %.300s", l.Method, path, body, resp.StatusCode, b)
		h.found[name] = true
	}
}

func (h *hostile) enough(n int) {
	if h.sent < n {
		h.t.Errorf("only %d requests were sent", h.sent)
	}
}

// A leaf is a field of a body without fields below it.
type leaf struct {
	path []string
	kind reflect.Type
}

func leavesOf(of reflect.Type, path []string, depth int) (found []leaf) {
	switch {
	case of.Kind() == reflect.Pointer:
		return leavesOf(of.Elem(), path, depth)
	case of.Kind() == reflect.Slice && of.Elem().Kind() != reflect.Uint8:
		return leavesOf(of.Elem(), append(slices.Clone(path), "[]"), depth)
	case of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]():
		return []leaf{{path, of}}
	case depth == 0:
		return nil
	}
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		next := path
		if !f.Anonymous || name != "" {
			next = append(slices.Clone(path), map[bool]string{true: f.Name, false: name}[name == ""])
		}
		found = append(found, leavesOf(f.Type, next, depth-1)...)
	}
	return found
}

func (f leaf) hostile() []any {
	switch {
	case f.kind == reflect.TypeFor[time.Time]():
		return []any{"0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}
	case f.kind.Kind() == reflect.Bool:
		return []any{true}
	case f.kind.Kind() == reflect.String:
		return []any{"a\x00b", "", strings.Repeat("é", 3000), "[x](", "-1"}
	case f.kind.Kind() == reflect.Float64:
		return []any{json.Number("1e308"), json.Number("1e9999"), "NaN", -1}
	case slices.Contains([]reflect.Kind{reflect.Int, reflect.Int32, reflect.Int64}, f.kind.Kind()):
		return []any{json.Number("2147483648"), json.Number("9223372036854775807"), json.Number("-9223372036854775808"), -1, 0, json.Number("1e9999")}
	}
	deep := any("x")
	for range 40 {
		deep = map[string]any{"a": deep}
	}
	return []any{map[string]any{"a\x00b": "c\x00d"}, map[string]any{"id": json.Number("1e9999"), "x": "\x00"}, deep, "a\x00b",
		map[string]any{"name": "\x00", "entrypoint": []string{"\x00"}}, json.RawMessage(`{"a":"\ud800","\udc00":1}`), json.RawMessage(`{"a":1e131000}`)}
}

// put stores a value at a path; "[]" is the only element of a list.
func put(root map[string]any, path []string, value any) {
	if len(path) == 0 {
		return
	}
	name, rest := path[0], path[1:]
	if len(rest) > 0 && rest[0] == "[]" {
		if len(rest) == 1 {
			root[name] = []any{value}
			return
		}
		list, _ := root[name].([]any)
		if len(list) == 0 {
			list = []any{map[string]any{}}
		}
		if inner, ok := list[0].(map[string]any); ok {
			put(inner, rest[1:], value)
		}
		root[name] = list
		return
	}
	if len(rest) == 0 {
		root[name] = value
		return
	}
	inner, ok := root[name].(map[string]any)
	if !ok {
		inner = map[string]any{}
		root[name] = inner
	}
	put(inner, rest, value)
}
