package v1

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseQuery(t *testing.T) {
	type request struct {
		Text  string     `json:"text"`
		Words []JobState `json:"words"`
		Count int        `json:"count"`
		Last  *int64     `json:"last"`
		IDs   []int      `json:"ids"`
		Flag  bool       `json:"flag"`
		Maybe *bool      `json:"maybe"`
		Step  *float64   `json:"range.gt"`
		Since *time.Time `json:"since"`
		Window
	}
	no, last, step, at := false, int64(1<<40), 0.5, time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		query   map[string][]string
		want    request
		message string // part of the error
	}{
		"nothing":        {},
		"empty":          {query: map[string][]string{"text": {""}, "count": {""}, "flag": {""}, "maybe": {""}, "since": {""}, "limit": {""}}},
		"unknown":        {query: map[string][]string{"other": {"x"}}},
		"all":            {query: map[string][]string{"text": {"a", "b"}, "words": {"x", "y"}, "count": {"-2"}, "last": {"1099511627776"}, "ids": {"1", "2"}, "flag": {"true"}, "maybe": {"false"}, "range.gt": {"0.5"}, "since": {"2026-01-31"}, "limit": {"3"}, "offset": {"4"}}, want: request{Text: "a", Words: []JobState{"x", "y"}, Count: -2, Last: &last, IDs: []int{1, 2}, Flag: true, Maybe: &no, Step: &step, Since: &at, Window: Window{Limit: 3, Offset: 4}}},
		"no integer":     {query: map[string][]string{"count": {"1.5"}}, message: `count: expected an integer, found "1.5"`},
		"too large":      {query: map[string][]string{"count": {"2147483648"}}, message: "count: expected an integer"},
		"one of a list":  {query: map[string][]string{"ids": {"1", "x"}}, message: `ids: expected an integer, found "x"`},
		"empty in list":  {query: map[string][]string{"ids": {"1", ""}}, message: `ids: expected an integer, found ""`},
		"no boolean":     {query: map[string][]string{"flag": {"yes"}}, message: `flag: expected true or false, found "yes"`},
		"no time":        {query: map[string][]string{"since": {"today"}}, message: `since: expected a time such as`},
		"no number":      {query: map[string][]string{"range.gt": {"x"}}, message: `range.gt: expected a number, found "x"`},
		"a long nothing": {query: map[string][]string{"count": {strings.Repeat("9", 10_000)}}, message: "count: expected an integer"},
	} {
		var got request
		err := ParseQuery(&got, func(name string) []string { return c.query[name] })
		switch {
		case c.message == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.message == "" && !reflect.DeepEqual(got, c.want):
			t.Errorf("%s: %+v", name, got)
		case c.message == "":
			var again request
			sent := FormatQuery(&got)
			if err := ParseQuery(&again, func(name string) []string { return sent[name] }); err != nil || !reflect.DeepEqual(got, again) {
				t.Errorf("%s: sent as %v: %+v, %v", name, sent, again, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.message) || len(err.Error()) > 1000:
			t.Errorf("%s: %v", name, err)
		}
	}
}
