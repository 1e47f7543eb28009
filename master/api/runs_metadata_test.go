package api

import (
	"fmt"
	"strings"
	"testing"
)

func nested(levels int, value string) string {
	return strings.Repeat(`{"a":`, levels) + value + strings.Repeat("}", levels)
}

func listOf(n int, value string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(value+",", n), ",") + "]"
}

func manyKeys(n int, value string) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf(`"k%d": %s`, i, value))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// Metadata of runs has Determined's bounds. What is beyond them since earlier stays readable, and can be searched.
func TestBoundsOfMetadata(t *testing.T) {
	r, me, runs := threeRuns(t)
	path := fmt.Sprintf("/api/v1/runs/%d/metadata", runs[0])
	for _, metadata := range []string{`{}`, nested(10, `"deep"`), nested(9, `["deep"]`), manyKeys(1000, "1"), manyKeys(10, listOf(100, "true")), `{"` + strings.Repeat("é", 50) + `": 1}`,
		`{"t": "` + strings.Repeat("é", 5000) + `"}`, `{"e": {}, "l": [], "n": null}`} {
		me.post(path, `{"metadata": `+metadata+`}`).ok()
	}
	for metadata, says := range map[string]string{
		nested(11, `1`):                                  "metadata exceeds maximum nesting depth of 10",
		nested(10, `[1]`):                                "metadata exceeds maximum nesting depth of 10",
		manyKeys(1001, "1"):                              "key count limit of 1000",
		manyKeys(1001, "{}"):                             "key count limit of 1000",
		manyKeys(11, listOf(91, "[]")):                   "key count limit of 1000",
		`{"x": {"` + strings.Repeat("k", 51) + `": 1}}`:  "metadata key exceeds maximum length of 50 characters",
		`{"x": {"long": ` + listOf(101, "1") + `}}`:      "metadata array exceeds maximum length of 101/100 elements",
		`{"x": [["` + strings.Repeat("t", 5001) + `"]]}`: "metadata value exceeds maximum length of 5000 characters",
	} {
		me.post(path, `{"metadata": `+metadata+`}`).says(400, says)
	}
	me.post(path, `{"metadata": {"x": {"long": `+listOf(101, "1")+`}}}`).says(400, `x.long`)

	r.exec(`UPDATE trials SET metadata = jsonb_build_object('stage', 'old', 'text', repeat('t', 9000), 'list', (SELECT jsonb_agg(n) FROM generate_series(1, 1500) n), 'deep', $2::text::jsonb) WHERE id = $1`,
		runs[0], nested(300, `"deep"`))
	if got := me.get(path).ok(); !strings.Contains(string(got.body), strings.Repeat("t", 9000)) {
		t.Errorf("metadata of earlier: %.200s", got.body)
	}
	for query, found := range map[string]bool{"metadata.stage = old": true, "metadata.text ~ ttt": true, "metadata.list = 1000": true, "metadata.list = 1001": false,
		"metadata.deep" + strings.Repeat(".a", 300) + " = deep": true} {
		want := "[]"
		if found {
			want = fmt.Sprint(runs[:1])
		}
		if got := me.runsFound(`"query": ` + quotedJSON(t, query)); fmt.Sprint(got) != want {
			t.Errorf("%.40s: %v", query, got)
		}
	}
}

// A NUL in the name of a column is refused, whatever the operator.
func TestNULInColumns(t *testing.T) {
	_, me, _ := threeRuns(t)
	for _, op := range []string{"isEmpty", "notEmpty", "=", "contains"} {
		for column, location := range map[string]string{`metadata.a\u0000b`: "RUN_METADATA", `hp.\u0000`: "RUN_HYPERPARAMETERS", `validation.a\u0000`: "VALIDATIONS"} {
			f := fmt.Sprintf(`{"columnName":"%s","kind":"field","location":"LOCATION_TYPE_%s","operator":%q,"type":"COLUMN_TYPE_TEXT","value":"x"}`, column, location, op)
			me.post("/api/v1/runs", `{"filter":`+filterOf(t, false, f)+`}`).says(400, "contains a NUL character")
		}
	}
	me.get("/api/v1/projects/1/metadata/a%00b").says(400, "NUL")
}
