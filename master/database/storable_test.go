package database

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/jsontext"
)

// PostgreSQL must accept the JSON that the check accepts, and its numbers as doubles; it must
// reject what the check rejects, except values that exceed only our own limits.
func TestStorableJSON(t *testing.T) {
	w := newWorld(t)
	deep := func(n int) string { return strings.Repeat("[", n) + "1" + strings.Repeat("]", n) }
	for _, c := range []struct {
		text  string
		ours  bool
		limit bool // ours alone
	}{
		{`0`, true, false}, {`-0.0`, true, false}, {`0e0`, true, false}, {`0e-300`, true, false}, {`1e-400`, true, false}, {`3e-999`, true, false}, {"0." + strings.Repeat("9", 3000), true, false},
		{`1.7976931348623157e308`, true, false}, {`5e-324`, true, false}, {`123456789012345678901234567890`, true, false},
		{strings.Repeat("9", 300), true, false}, {"0." + strings.Repeat("0", 290) + "1", true, false},
		{`"\ud83d\ude00"`, true, false}, {`"\\ud800 \\u0000"`, true, false}, {`"é\n\"1e999"`, true, false}, {`"1e400"`, true, false},
		{`{"a": [1, {"b\"": "x"}], "c": null}`, true, false}, {deep(jsontext.Deepest), true, false},
		{`1e400`, false, false}, {`-1e400`, false, false}, {`1e140000`, false, false},
		{`{"a": 1e309}`, false, false}, {`[1E+999]`, false, false}, {`0e-999999`, false, false},
		{`"\ud800"`, false, false}, {`"\udc00"`, false, false}, {`"\ud800\ud800"`, false, false}, {`"\ud800x"`, false, false},
		{`"\u0000"`, false, false}, {`{"\u0000": 1}`, false, false}, {"\"\xff\"", false, false},
		{`1.` + strings.Repeat("3", 20_000), false, false}, {strings.Repeat("9", 400), false, false}, {`1e-20000`, false, false}, {`1e-1000`, false, true}, {deep(jsontext.Deepest + 1), false, true},
	} {
		if err := jsontext.Storable([]byte(c.text)); (err == nil) != c.ours {
			t.Errorf("%.60s: %v", c.text, err)
		}
		err := w.db.Exec(t.Context(), `SELECT `+FloatAt("v")+`, CASE WHEN jsonb_typeof(v) = 'number' AND abs(v::numeric) > 1 THEN v::float8 END, v::text
			FROM (SELECT jsonb_path_query(($1::text)::jsonb, 'strict $.**') AS v) x`, c.text)
		if (err == nil) != c.ours && !c.limit {
			t.Errorf("%.60s: PostgreSQL's error is %v", c.text, err)
		}
	}
}

// TestText: what a column cannot store is replaced, and a text is cut between its characters.
func TestText(t *testing.T) {
	for _, x := range []struct {
		text string
		most int
		want string
	}{{"plain", 5, "plain"}, {"a\x00b\xff", 20, "a\uFFFDb\uFFFD"}, {"plains", 5, "plain…"}, {"aé", 2, "a\uFFFD…"}} {
		if got := TextUpTo(x.text, x.most); got != x.want {
			t.Errorf("%q: %q, want %q", x.text, got, x.want)
		}
	}
}
