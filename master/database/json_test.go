package database

import (
	"encoding/json"
	"testing"
)

// TestJSONAsSent: JSON is copied as PostgreSQL sends it, NULL is not null, and other types are decoded.
func TestJSONAsSent(t *testing.T) {
	w := newWorld(t)
	type values struct {
		Raw     json.RawMessage  `db:"raw"`
		Text    json.RawMessage  `db:"text"`
		Null    json.RawMessage  `db:"of_null"`
		Unset   json.RawMessage  `db:"unset"`
		Pointer *json.RawMessage `db:"pointer"`
		Map     map[string]int   `db:"map"`
	}
	list, err := Rows[values](t.Context(), w.db, `SELECT jsonb_build_object('n', n) AS raw, '{"a" :1}'::json AS text, 'null'::jsonb AS of_null,
		NULL::jsonb AS unset, CASE n WHEN 1 THEN '[1]'::jsonb END AS pointer, '{"k": 3}'::jsonb AS map FROM generate_series(1, 2) n`)
	if err != nil || len(list) != 2 {
		t.Fatalf("%d rows: %v", len(list), err)
	}
	for i, want := range []string{`{"n": 1}`, `{"n": 2}`} {
		v := list[i]
		if string(v.Raw) != want || string(v.Text) != `{"a" :1}` || string(v.Null) != "null" || v.Unset != nil || v.Map["k"] != 3 {
			t.Errorf("row %d: %+v", i, v)
		}
	}
	if p := list[0].Pointer; p == nil || string(*p) != "[1]" {
		t.Errorf("through a pointer: %v", p)
	}
	if list[1].Pointer != nil {
		t.Errorf("NULL through a pointer: %s", *list[1].Pointer)
	}
}
